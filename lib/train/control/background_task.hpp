/// A task on a thread of its own, whose result is polled.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace ziggurat::train {

/// One piece of work at a time. It must not communicate: MPI belongs to the thread that trains.
///
/// The thread takes no signals and is a little less important to the scheduler than those that train.
/// Collective: local
class BackgroundTask {
  public:
    /// Result of a piece of work: an answer, or why there is none.
    struct Result {
        bool is_well = false;
        std::string text;
    };

    BackgroundTask() = default;
    /// Asks the work to give up and waits for it.
    ~BackgroundTask();
    BackgroundTask(const BackgroundTask&) = delete;
    BackgroundTask& operator=(const BackgroundTask&) = delete;

    /// \param work  its text is the answer; what it throws becomes the reason
    /// \pre   is_idle()
    /// Errors: Error{resource} when the system has no thread
    void start(std::function<std::string()> work);
    bool is_idle() const noexcept { return !thread_.joinable(); }
    /// start() was called and the work is over. One atomic load.
    bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire); }
    /// \pre is_done()
    Result take();

    /// The answer is wanted no more; the work ends when it looks at gives_up().
    void give_up() noexcept { gives_up_.store(true); }
    const std::atomic<bool>& gives_up() const noexcept { return gives_up_; }

  private:
    std::atomic<bool> is_done_{false};
    std::atomic<bool> gives_up_{false};
    Result result_;
    std::thread thread_;
};

}  // namespace ziggurat::train
