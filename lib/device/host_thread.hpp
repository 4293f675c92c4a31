/// HostThread: the one thread that runs the host's kernels beside a device.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "device/wait_watch.hpp"

namespace ziggurat::device {

/// Work that a HostThread does again and again without allocating.
struct Task {
    std::function<void()> work = {};
    std::function<void()> when_done = {};  ///< on that thread; quick, throws nothing
    // Of the thread, since the task was posted last:
    bool is_done = true;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::exception_ptr error = nullptr;
    Task* next = nullptr;
};

/// Runs what it is given in order. The library behind the host's kernels may be started and called by one
/// thread only; where a device computes, this is the one, so that an update on the host never keeps the
/// thread that issues from issuing.
class HostThread {
  public:
    /// \param watch  hears of waits for this thread, and outlives it; nothing: nobody does
    /// Errors: Error{resource} when the system has no thread
    explicit HostThread(WaitWatch* watch = nullptr);
    /// Ends when it has done what was posted.
    ~HostThread();
    HostThread(const HostThread&) = delete;
    HostThread& operator=(const HostThread&) = delete;

    /// Returns at once. \pre the task is done
    void post(Task& task);
    /// Errors: what its work has thrown, once
    bool is_done(Task& task) const;
    /// Does `work` there, behind what was posted, and returns when it is done; called there, at once.
    ///
    /// Errors: what it has thrown
    void run(const std::function<void()>& work);

  private:
    void loop();

    WaitWatch* watch_;
    mutable std::mutex mutex_;
    std::condition_variable news_;
    std::condition_variable done_;
    Task* first_ = nullptr;
    Task* last_ = nullptr;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::device
