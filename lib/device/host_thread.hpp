/// HostThread: the thread that runs host kernels concurrently with a device.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "device/wait_observer.hpp"

namespace ziggurat::device {

/// Work that a HostThread can run repeatedly without allocation.
struct Task {
    std::function<void()> work = {};
    std::function<void()> when_done = {};  ///< runs on that thread; must be quick and must not throw
    // Set by the thread after each post():
    bool is_done = true;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::exception_ptr error = nullptr;
    Task* next = nullptr;
};

/// Thread that runs host kernels in order.
///
/// The library of the host kernels may be initialised and called by one thread only. With a device, that is
/// this thread, so optimizer updates on the host never block the thread that issues device work.
class HostThread {
  public:
    /// \param watch  is notified of waits for this thread, and outlives it; may be nullptr
    /// Errors: Error{resource} if the system cannot start a thread
    explicit HostThread(WaitObserver* watch = nullptr);
    /// Waits for all posted tasks, then ends the thread.
    ~HostThread();
    HostThread(const HostThread&) = delete;
    HostThread& operator=(const HostThread&) = delete;

    /// Enqueues a task and returns at once. \pre the task is done
    void post(Task& task);
    /// True if the task is done. Errors: rethrows an exception of its work, once
    bool is_done(Task& task) const;
    /// Runs `work` on the thread, after all posted tasks, and waits for it.
    ///
    /// On that thread, runs it at once.
    ///
    /// Errors: rethrows an exception of `work`
    void run(const std::function<void()>& work);

  private:
    void loop();

    WaitObserver* watch_;
    mutable std::mutex mutex_;
    std::condition_variable report_;
    std::condition_variable done_;
    Task* first_ = nullptr;
    Task* last_ = nullptr;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::device
