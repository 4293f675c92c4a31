/// The folder of a run: its deck, environment, log and metrics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/held_folder.hpp"

namespace ziggurat::train {

/// `<run.dir>/errors/rank00013.log`: there only when that rank has failed.
std::string error_file_of(const std::string& run_dir, int rank);

/// Errors: Error{deck} that says what to do, where there are some and run.resume is never
void expect_no_checkpoints(const std::string& run_dir);

/// Fate of the checkpoints of an earlier run when one begins afresh in its folder.
enum class EarlierCheckpoints {
    refuse,    ///< an error that says what to do
    set_aside  ///< kept like the other files
};

/// What a failed flock of the folder at `path` means for the user; empty for an interruption or another job.
std::string lock_problem_of(int error, const std::string& path);

/// Creates run.dir and holds it for this job alone.
///
/// Files of an earlier run are never overwritten: they become `#metrics.jsonl.1#` and so on, one number for
/// all files of one run. The lock dies with the process, and is that of the folder, whatever it is called
/// meanwhile: what is written after the start goes into the folder that is held.
///
/// Collective: local; rank 0 has one
/// Errors:     Error{resource} when it cannot be made, written or is in use
class RunDirectory {
  public:
    /// Touches nothing in it yet.
    explicit RunDirectory(const std::string& path);

    /// Makes room for a run that begins afresh.
    /// Errors: Error{deck} where checkpoints are to be refused and there are some
    void begin_afresh(EarlierCheckpoints checkpoints);
    /// Makes the files those of a run that has come to `step` and goes on: what metrics.jsonl says of later
    /// steps is cut off and kept, and DONE goes.
    void go_on_from(std::int64_t step);

    /// Why no lock keeps another job out, for a warning; empty: one does.
    const std::string& lock_problem() const noexcept { return lock_problem_; }

    /// The name that it has now.
    std::string path() const { return folder_.name(); }
    /// The path of a file in it, as it was called at the start.
    std::string file(std::string_view name) const;
    /// The folder as this process holds it.
    const storage::HeldFolder& held() const noexcept { return folder_; }
    /// News for the user, once: the folder was renamed, removed or put back.
    std::string news();
    /// One that was removed is made anew under its name and held.
    /// Errors: Error{resource}, also when another run has taken its place
    void renew();
    /// Writes a whole file; readers see the old one or the new one.
    void write(std::string_view name, std::string_view text) const;
    /// DONE, which says to scripts that there is nothing more to do.
    void write_done(std::int64_t step) const;
    /// Adds to the end of a file.
    void append(std::string_view name, std::string_view text) const;
    /// Notes for the user since the call before, a line each: what became of earlier files.
    std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  private:
    /// Under one number for all of them; how many.
    int move_aside(const std::vector<std::string>& names);

    FileHandle open(const std::string& way, OpenMode mode) const;
    /// The path under which a file of that name is written.
    std::string in_folder(std::string_view name) const { return folder_.way() + "/" + std::string{name}; }

    std::string path_;
    std::string lock_problem_;
    storage::HeldFolder folder_;
    storage::Whereabouts told_ = storage::Whereabouts::here;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::train
