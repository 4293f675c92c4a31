/// Alarm that wakes a rank at given times.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/node/node_memory.hpp"

namespace ziggurat::comm {

/// A thread that rings the bell of this rank. It takes no signals, and sleeps until then.
class Alarm {
  public:
    /// \param node  outlives this
    /// Errors: Error{resource} when the system has no thread
    explicit Alarm(const NodeMemory& node);
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// Allocates nothing.
    void ring_at(std::int64_t time_ns);

  private:
    void run();

    const NodeMemory& node_;
    std::mutex mutex_;
    std::condition_variable news_;
    std::vector<std::int64_t> times_;  ///< a heap, the next in front
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace ziggurat::comm
