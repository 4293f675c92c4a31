/// Touch files in the run directory: requests to a run, for systems where signals do not work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/enum_array.hpp"

namespace ziggurat::train {

enum class ControlFile { stop, checkpoint, validate, report };
inline constexpr std::size_t num_touch_files = 4;

/// Returns the name of the file: `STOP`, `CHECKPOINT`, `VALIDATE` or `REPORT`.
const char* name_of(ControlFile file);

/// Polls for touch files every second on its own thread, so that a hanging file system delays no step.
///
/// Files that exist at the start are not requests to this run and are deleted. Collective: local; only rank 0
/// has one. No allocation after construction except in acknowledged().
class ControlFiles {
  public:
    /// Errors: Error{resource} when the thread cannot be started
    explicit ControlFiles(std::string folder, std::chrono::milliseconds every = std::chrono::seconds{1});
    ~ControlFiles();
    ControlFiles(const ControlFiles&) = delete;
    ControlFiles& operator=(const ControlFiles&) = delete;

    /// Returns notes on files that existed at the start, one line each.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

    /// Returns true if the file was created since the last acknowledged(). One atomic load.
    bool is_present(ControlFile file) const noexcept { return look_of(file).is_present.load(); }

    /// Deletes a file whose request was granted. Returns the reason of a failure, or an empty text.
    ///
    /// A file that cannot be deleted is ignored until it has been deleted by hand.
    std::string acknowledged(ControlFile file);

  private:
    struct Look {
        std::string path;
        std::atomic<bool> is_present{false};
        bool is_stuck = false;  ///< granted, but cannot be deleted
    };

    Look& look_of(ControlFile file) noexcept { return looks_[file]; }
    const Look& look_of(ControlFile file) const noexcept { return looks_[file]; }
    void run();
    void check_now();

    EnumArray<ControlFile, Look, num_touch_files> looks_;
    std::vector<std::string> notes_;
    std::chrono::milliseconds every_;
    std::mutex looking_;
    std::condition_variable stops_;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::train
