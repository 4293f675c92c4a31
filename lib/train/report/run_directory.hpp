/// Run directory: deck, environment, log and metrics of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_handle.hpp"
#include "storage/directory_handle.hpp"

namespace ziggurat::train {

/// Returns `<run.dir>/errors/rank00013.log`. The file exists only if that rank has failed.
std::string error_file_of(const std::string& run_dir, int rank);

/// Checks that the run directory has no checkpoints. Call if run.resume is never.
///
/// Errors: Error{deck} with a remedy, if there are checkpoints
void expect_no_checkpoints(const std::string& run_dir);

/// Handling of the checkpoints of an earlier run when a run starts from scratch in its directory.
enum class EarlierCheckpoints {
    refuse,    ///< an error with a remedy
    set_aside  ///< renamed like the other files
};

/// Returns the meaning of a failed flock of the folder at `path`, for the user.
///
/// Empty for an interruption, or if another job holds the lock.
std::string lock_problem_of(int error, const std::string& path);

/// Creates run.dir and locks it for this job.
///
/// Files of an earlier run are never overwritten. They are renamed to `#metrics.jsonl.1#` and so on, with one
/// number for all files of one run. The lock ends with the process. It belongs to the directory, even if that
/// is renamed: all later writes go to the locked directory.
///
/// Collective: local; rank 0 has one
/// Errors:     Error{resource} if it cannot be created or written, or is in use
class RunDirectory {
  public:
    /// Does not change the contents of the directory.
    ///
    /// Errors: also if a file of the run is a symbolic link, because a run does not write through links
    explicit RunDirectory(const std::string& path);

    /// Renames the files of an earlier run, for a run that starts from scratch.
    ///
    /// Errors: Error{deck} if checkpoints are to be refused and exist
    void start_from_scratch(EarlierCheckpoints checkpoints);
    /// Prepares the files for a run that resumes after `step`.
    ///
    /// Moves lines of later steps in metrics.jsonl to another file, and deletes DONE.
    void go_on_from(std::int64_t step);

    /// Returns the reason why other jobs are not locked out, for a warning; empty if they are.
    const std::string& lock_problem() const noexcept { return lock_problem_; }

    /// Locks the folder of checkpoints for this job, if it exists and is not locked yet.
    ///
    /// It may be a link that other runs have as well. Returns the reason if another job has locked it.
    std::string lock_checkpoints();

    /// Returns the current name of the directory.
    std::string path() const { return folder_.name(); }
    /// Returns the path of a file in it, under the name that the directory had at the start.
    std::string file(std::string_view name) const;
    /// Returns the handle of the directory.
    const storage::DirectoryHandle& held() const noexcept { return folder_; }
    /// Returns a message if the directory was renamed, removed or restored since the last call; else empty.
    std::string next_message();
    /// Recreates a removed directory under its name, and locks it.
    ///
    /// Errors: Error{resource}, also if another run uses its path
    void reopen();
    /// Writes a whole file. Readers see either the old or the new file.
    void write(std::string_view name, std::string_view text) const;
    /// Writes DONE, which shows to scripts that the run has finished.
    void write_done(std::int64_t step) const;
    /// Appends to a file.
    void append(std::string_view name, std::string_view text) const;
    /// Returns notes on earlier files for the user since the previous call, one line each.
    std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  private:
    /// Renames files, all with one number. Returns that number.
    int move_aside(const std::vector<std::string>& names);

    FileHandle open(const std::string& fd_path, OpenMode mode) const;
    /// Returns the path for writing a file of that name.
    std::string in_folder(std::string_view name) const { return folder_.fd_path() + "/" + std::string{name}; }

    std::string path_;
    std::string lock_problem_;
    storage::DirectoryHandle folder_;
    FileHandle checkpoints_;  ///< lock of the folder of checkpoints
    storage::PathStatus last_reported_ = storage::PathStatus::unchanged;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::train
