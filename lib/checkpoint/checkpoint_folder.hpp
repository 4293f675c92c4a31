/// The folder `<run.dir>/ckpt`: lists, commits and removes checkpoints.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// Retention: the checkpoints that stay on disk.
struct RetentionPolicy {
    static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

    std::int64_t last = 2;         ///< number of newest complete checkpoints to keep
    std::int64_t every_steps = 0;  ///< milestones: steps that are multiples of this are always kept; 0: none
    std::vector<std::int64_t> best = {};  ///< steps kept for their validation losses
};

/// Returns the folder name of a step: `step-000001250`.
std::string folder_name(std::int64_t step);

/// Removes leftovers of interrupted saves and removals from `root`.
///
/// Ignores entries that cannot be removed.
void remove_unfinished(const std::string& root);

/// Repairs `root` after jobs that died during a save. Ignores errors.
///
/// Removes leftovers of interrupted saves and removals, and makes LATEST name the newest complete checkpoint.
///
/// \pre this job alone has locked the run's folder
void repair_folder(const std::string& root);

/// One save, on the rank that commits. Readers see no change before finish().
///
/// The destructor removes the folder of a save that is not finished.
class Commit {
  public:
    /// Creates `<root>/step-N.tmp`; first removes leftovers of interrupted saves from `root`.
    /// Errors: Error{resource}
    Commit(std::string root, std::int64_t step);
    ~Commit();
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;

    /// The folder that shards are written to.
    const std::string& folder() const noexcept { return folder_; }

    /// Commits the checkpoint and applies retention.
    ///
    /// Writes master.h5 and COMPLETE, renames the folder and updates LATEST; flushes files and directories to
    /// the disk in that order. Renames checkpoints of later steps, which belong to an abandoned past, to
    /// `step-N.superseded`. Then removes the checkpoints that `keep` does not cover, but never the one that
    /// LATEST names. If `root` is a symbolic link, checkpoints of other runs are never removed: those whose
    /// deck names another run directory. Returns messages, one line each: checkpoints that were renamed,
    /// errors of removal.
    ///
    /// Errors: Error{resource}, or Error{internal} if `manifest` is inconsistent; then the folder is as it
    ///         was before, and LATEST is still valid
    std::vector<std::string> finish(Manifest manifest, const RetentionPolicy& keep);

  private:
    std::string root_;
    std::string folder_;
    std::int64_t step_;
    bool is_finished_ = false;
};

/// Result of the search in `<run.dir>/ckpt` for a checkpoint to resume from.
struct FoundCheckpoint {
    /// The newest checkpoint that passes verification: COMPLETE, sizes, hashes of files.
    std::optional<std::string> path;
    std::int64_t saved_step = -1;    ///< highest step found, or named by LATEST; -1: none
    bool is_empty = false;           ///< no complete step exists: a fresh start
    std::vector<std::string> notes;  ///< skipped checkpoints with reasons, a line each
};

/// Finds the complete checkpoint with the highest step; skips those that do not pass verification.
///
/// The result is the one that LATEST names, except if that one is damaged, or if the job died between the
/// rename of the checkpoint and that of LATEST; then `notes` has a line about it. With `below`, considers
/// only earlier steps: for resuming after a read found corruption that sizes and file hashes do not show.
///
/// If a running training removes a checkpoint meanwhile, the folder is read again.
///
///
/// Errors: Error{resource} when `root` cannot be read
FoundCheckpoint find_newest(const std::string& root, std::optional<std::int64_t> below = std::nullopt);

/// Returns the complete checkpoints (folders named `step-N` that have a COMPLETE), ascending by step.
/// Errors: Error{resource} if `root` exists and cannot be read
std::vector<std::string> list_complete(const std::string& root);

/// Returns the step of a folder called `step-N`; nullopt for other names. Only the last part of a path
/// counts.
std::optional<std::int64_t> step_of_folder(const std::string& path);

/// The content of the file LATEST.
struct Latest {
    std::string name;  ///< folder name of the checkpoint
    std::uint64_t hash_of_manifest = 0;

    bool operator==(const Latest&) const = default;
};

/// Reads LATEST; returns nullopt if it does not exist.
/// Errors: Error{checkpoint} if its content is invalid
std::optional<Latest> read_latest(const std::string& root);

/// Returns the free bytes for this user on the file system of `path`; nullopt if unlimited.
/// Errors: Error{resource}
std::optional<std::int64_t> free_bytes(const std::string& path);

}  // namespace ziggurat::checkpoint
