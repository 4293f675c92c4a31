/// The folder of a run: its deck, environment, log and metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/file_handle.hpp"

namespace ziggurat::train {

/// Creates run.dir and holds it for this job alone.
///
/// Files of an earlier run are never overwritten: they become `#metrics.jsonl.1#` and so on, one number for
/// all files of one run. The lock dies with the process. Collective: local; rank 0 has one.
/// Errors: Error{resource} when it cannot be made, written or is in use
class RunDirectory {
  public:
    explicit RunDirectory(const std::string& path);

    const std::string& path() const noexcept { return path_; }
    /// The path of a file in it.
    std::string file(std::string_view name) const;
    /// Writes a whole file; readers see the old one or the new one.
    void write(std::string_view name, std::string_view text) const;
    /// What a user should know, a line each: which earlier files were moved aside.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

  private:
    void move_earlier_files_aside();

    std::string path_;
    FileHandle lock_;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::train
