/// The folder `<run.dir>/ckpt`: listing checkpoints, making one complete, removing old ones.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// The checkpoints that stay on disk.
struct Keep {
    static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

    std::int64_t last = 2;         ///< the newest so many complete ones
    std::int64_t every_steps = 0;  ///< milestones: steps that are multiples of this stay for ever; 0: none
    std::vector<std::int64_t> best = {};  ///< steps that stay for their validation losses
};

/// `step-000001250`.
std::string folder_name(std::int64_t step);

/// Removes what saves and removals that never ended have left in `root`. What cannot be removed stays.
void remove_unfinished(const std::string& root);

/// Repairs `root` after jobs that died while they saved: removes saves and removals that never ended, and
/// lets LATEST name the newest complete checkpoint. What cannot be done stays undone.
///
/// \pre the run's folder is held by this job alone
void tidy_up(const std::string& root);

/// One save, on the rank that commits. Everything before commit() is invisible to readers.
class Commit {
  public:
    /// Creates `<root>/step-N.tmp`, removing what saves that never ended have left in `root`.
    /// Errors: Error{resource}
    Commit(std::string root, std::int64_t step);

    /// The folder that shards are written into.
    const std::string& folder() const noexcept { return folder_; }

    /// master.h5, COMPLETE, rename, LATEST; files and directories flushed to the disk in that order. Steps
    /// beyond this one, of a past that was given up, are set aside under another name
    /// (`step-N.superseded`). Then removes what `keep` lets go: never the one that LATEST names. Returns what
    /// is to be told of that, a line each: what was set aside, what could not be removed.
    ///
    /// Errors: Error{resource}, or Error{internal} when `manifest` contradicts itself; then the folder is as
    /// it
    ///         was before, and LATEST still right
    std::vector<std::string> finish(Manifest manifest, const Keep& keep);

    /// Removes the folder. Never throws.
    void abandon() noexcept;

  private:
    std::string root_;
    std::string folder_;
    std::int64_t step_;
};

/// The result of looking in `<run.dir>/ckpt` for something to go on from.
struct FoundCheckpoint {
    /// Of the newest checkpoint that verifies: COMPLETE, sizes, hashes of files.
    std::optional<std::string> path;
    std::int64_t saved_step = -1;    ///< the highest that there is, or was by LATEST; -1: none
    bool is_empty = false;           ///< no complete step at all: a fresh start
    std::vector<std::string> notes;  ///< what was passed over and why, a line each
};

/// The highest complete step, going back over those that do not verify. It is the one that LATEST names,
/// unless that was damaged or death came between a checkpoint's own rename and that of LATEST: then notes say
/// so. With `below`, only steps before that one: for going on when reading has found damage that sizes and
/// hashes of files do not show.
///
/// A checkpoint that a running training removes meanwhile is none: the folder is looked at again.
///
/// Errors: Error{resource} when `root` cannot be read
FoundCheckpoint find_newest(const std::string& root, std::optional<std::int64_t> below = std::nullopt);

/// Complete checkpoints (folders named `step-N` that have a COMPLETE), ascending by step.
/// Errors: Error{resource} when `root` is there and cannot be read
std::vector<std::string> list_complete(const std::string& root);

/// The step of a folder called `step-N`; nothing for any other name. Of a path, the last part counts.
std::optional<std::int64_t> step_of_folder(const std::string& path);

/// The content of the file LATEST.
struct Latest {
    std::string name;  ///< of the folder
    std::uint64_t hash_of_manifest = 0;

    bool operator==(const Latest&) const = default;
};

/// Nothing when there is no such file.
/// Errors: Error{checkpoint} when it says something else
std::optional<Latest> read_latest(const std::string& root);

/// Free bytes on the file system of `path` for this user; nothing where it does not say how much it holds.
/// Errors: Error{resource}
std::optional<std::int64_t> free_bytes(const std::string& path);

}  // namespace ziggurat::checkpoint
