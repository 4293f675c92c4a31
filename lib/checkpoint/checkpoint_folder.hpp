/// The folder `<run.dir>/ckpt`: which checkpoints there are, how one becomes complete, which ones go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// What stays on disk.
struct Keep {
    std::int64_t last = 2;         ///< the newest so many complete ones
    std::int64_t every_steps = 0;  ///< milestones: steps that are multiples of this stay for ever; 0: none
};

/// `step-000001250`.
std::string folder_name(std::int64_t step);

/// One save, on the rank that commits. Everything before commit() is invisible to readers.
class Commit {
  public:
    /// Creates `<root>/step-N.tmp`, removing an older one of that name.
    /// Errors: Error{resource}
    Commit(std::string root, std::int64_t step);

    /// Where shards are to be written.
    const std::string& folder() const noexcept { return folder_; }

    /// master.h5, COMPLETE, rename, LATEST; files and directories flushed to the disk in that order. Then
    /// removes what `keep` lets go: never the one that LATEST names.
    ///
    /// Errors: Error{resource}; then the folder is as it was before, and LATEST still right
    void finish(Manifest manifest, const Keep& keep);

    /// Removes the folder. Never throws.
    void abandon() noexcept;

  private:
    std::string root_;
    std::string folder_;
    std::int64_t step_;
};

/// What was found in `<run.dir>/ckpt` when looking for something to go on from.
struct Found {
    std::optional<std::string>
        path;               ///< of the newest checkpoint that verifies (COMPLETE, sizes, file hashes)
    bool is_empty = false;  ///< no complete step at all: a fresh start
    std::vector<std::string> notes;  ///< what was passed over and why, a line each
};

/// LATEST, else the highest complete step, going back over those that do not verify.
Found find_newest(const std::string& root);

/// Complete checkpoints, ascending by step.
std::vector<std::string> list_complete(const std::string& root);

/// Free bytes on the file system of `path` for this user.
std::int64_t free_bytes(const std::string& path);

}  // namespace ziggurat::checkpoint
