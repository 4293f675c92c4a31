/// Clock of the start of MPI: reports a start that hangs, and ends the process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace ziggurat::comm {

/// Monitor of this process while it has no connection to the other ranks, on its own thread.
///
/// MPI_Init waits for all ranks, without a limit. If a rank of this node is stopped for the timeout, the
/// process names it and exits with code 6. After 30 s, two ranks report that MPI has not come up. After the
/// timeout, but not before 30 s, the process exits. Time in which this process or its launcher is stopped
/// does not count.
class StartClock {
  public:
    /// Errors: Error{resource} if the thread cannot be started
    explicit StartClock(double timeout_seconds);
    ~StartClock();
    StartClock(const StartClock&) = delete;
    StartClock& operator=(const StartClock&) = delete;

  private:
    void run();
    /// Waits for the next poll. Returns false if the start is over.
    bool wait();
    void poll_once(std::int64_t now_ns);

    double timeout_seconds_;
    std::int64_t tick_ns_;
    std::int64_t begin_ns_;
    std::int64_t looked_ns_;
    std::int64_t stopped_ns_ = 0;  ///< time when a rank was first seen stopped; 0: all run
    bool has_reported_ = false;
    std::mutex ending_;
    std::condition_variable ended_;
    bool is_over_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::comm
