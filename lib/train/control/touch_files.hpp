/// Touch files in the folder of a run as requests to it: they work where signals do not.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ziggurat::train {

enum class TouchFile { stop, checkpoint, validate, report };
inline constexpr std::size_t num_touch_files = 4;

/// `STOP`, `CHECKPOINT`, `VALIDATE`, `REPORT`.
const char* name_of(TouchFile file);

/// Looks for them every second from a thread of its own, so that a file system that hangs holds up no step.
///
/// Files that are there at the start ask nothing of this run and are deleted. Collective: local; rank 0 has
/// one. No allocation after construction but in obeyed().
class TouchFiles {
  public:
    /// Errors: Error{resource} when the thread cannot be started
    explicit TouchFiles(std::string folder, std::chrono::milliseconds every = std::chrono::seconds{1});
    ~TouchFiles();
    TouchFiles(const TouchFiles&) = delete;
    TouchFiles& operator=(const TouchFiles&) = delete;

    /// Notes on files that were deleted at the start, a line each.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

    /// Somebody has made the file since the last obeyed(). One atomic load.
    bool is_there(TouchFile file) const noexcept { return look_of(file).is_there.load(); }

    /// Deletes a file whose request was granted. Returns why that failed, else nothing; such a file asks
    /// for nothing more until somebody else has deleted it.
    std::string obeyed(TouchFile file);

  private:
    struct Look {
        std::string path;
        std::atomic<bool> is_there{false};
        bool is_stuck = false;  ///< obeyed, and cannot be deleted
    };

    Look& look_of(TouchFile file) noexcept { return looks_[static_cast<std::size_t>(file)]; }
    const Look& look_of(TouchFile file) const noexcept { return looks_[static_cast<std::size_t>(file)]; }
    void run();
    void look();

    std::array<Look, num_touch_files> looks_;
    std::vector<std::string> notes_;
    std::chrono::milliseconds every_;
    std::mutex looking_;
    std::condition_variable stops_;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::train
