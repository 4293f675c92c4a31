/// Task on its own thread, whose result is polled.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace ziggurat::train {

/// Background thread that runs one function at a time.
///
/// The function must not communicate, because only the training thread may call MPI. The thread handles no
/// signals and has a slightly lower scheduling priority than the training threads.
/// Collective: local
class BackgroundTask {
  public:
    /// Result of the function: its return value, or the reason of its failure.
    struct Result {
        bool is_well = false;
        std::string text;
    };

    BackgroundTask() = default;
    /// Requests the function to stop, and waits until it returns.
    ~BackgroundTask();
    BackgroundTask(const BackgroundTask&) = delete;
    BackgroundTask& operator=(const BackgroundTask&) = delete;

    /// \param work  function to run; the text of an exception that it throws becomes Result::text
    /// \pre   is_idle()
    /// Errors: Error{resource} when the system has no thread
    void start(std::function<std::string()> work);
    bool is_idle() const noexcept { return !thread_.joinable(); }
    /// Returns true if start() was called and the function has returned. One atomic load.
    bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire); }
    /// Returns the result and makes this object idle.
    ///
    /// \pre is_done()
    Result take();

    /// Requests the function to stop, as its result is no longer needed.
    ///
    /// The function polls cancel_requested().
    void request_cancel() noexcept { cancel_requested_.store(true); }
    const std::atomic<bool>& cancel_requested() const noexcept { return cancel_requested_; }

  private:
    std::atomic<bool> is_done_{false};
    std::atomic<bool> cancel_requested_{false};
    Result result_;
    std::thread thread_;
};

}  // namespace ziggurat::train
