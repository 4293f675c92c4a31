/// Alarm: wakes a rank at given times.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/node/node_memory.hpp"

namespace ziggurat::comm {

/// Thread that rings the bell of this rank at given times. It blocks signals.
class WakeupTimer {
  public:
    /// \param node  outlives this
    /// Errors: Error{resource} if the system cannot start a thread
    explicit WakeupTimer(const NodeMemory& node);
    ~WakeupTimer();
    WakeupTimer(const WakeupTimer&) = delete;
    WakeupTimer& operator=(const WakeupTimer&) = delete;

    /// Rings at `time_ns` (monotonic_ns). Does not allocate.
    void wake_at(std::int64_t time_ns);

  private:
    void run();

    const NodeMemory& node_;
    std::mutex mutex_;
    std::condition_variable report_;
    std::vector<std::int64_t> times_;  ///< heap, earliest time first
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::comm
