/// Detector of stalled file I/O: no progress for longer than a timeout.
#pragma once

#include <cstdint>

namespace ziggurat::train {

/// Watches a counter that increases during work. The caller passes the time.
///
/// Long gaps between calls do not count: in them the process was stopped (Ctrl-Z) or its machine was
/// suspended.
class StallDetector {
  public:
    enum class Advice { none, warn, abort };

    explicit StallDetector(double timeout_seconds) : timeout_seconds_{timeout_seconds} {}

    /// Checks the counter and returns the advice.
    ///
    /// `warn` once per timeout without a change, and `give_up` after max_timeouts timeouts.
    Advice update(std::int64_t count, std::int64_t now_ns);
    /// Returns the seconds from the last change of the counter to the last call of update().
    double seconds() const noexcept { return seconds_; }

    /// Number of timeouts until `give_up`: a large flush may make no progress for longer than one timeout.
    static constexpr int max_timeouts = 3;
    /// Maximum gap between two calls. A longer gap means that this process was stopped.
    static constexpr std::int64_t longest_pause_ns = 2'000'000'000;

  private:
    double timeout_seconds_;
    std::int64_t count_ = -1;
    std::int64_t since_ns_ = 0;
    std::int64_t last_look_ns_ = 0;
    double seconds_ = 0;
    int warnings_ = 0;
};

}  // namespace ziggurat::train
