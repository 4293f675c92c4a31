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
class Alarm {
  public:
    /// \param node  outlives this
    /// Errors: Error{resource} if the system cannot start a thread
    explicit Alarm(const NodeMemory& node);
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// Rings at `time_ns` (monotonic_ns). Does not allocate.
    void ring_at(std::int64_t time_ns);

  private:
    void run();

    const NodeMemory& node_;
    std::mutex mutex_;
    std::condition_variable news_;
    std::vector<std::int64_t> times_;  ///< heap, earliest time first
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::comm
