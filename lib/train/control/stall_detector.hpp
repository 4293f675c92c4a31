/// Patience with files that do not answer: a stall is no progress for too long.
#pragma once

#include <cstdint>

namespace ziggurat::train {

/// Watches a count that grows while work is done; time is told, not asked. Time in which nobody looked does
/// not count: the process was stopped (Ctrl-Z), or its machine was asleep.
class StallDetector {
  public:
    enum class News { none, warn, give_up };

    explicit StallDetector(double patience_seconds) : patience_seconds_{patience_seconds} {}

    /// Advice after a look at the count: to warn once per patience in which it has not changed, and to
    /// give up after most_patiences of them.
    News see(std::int64_t count, std::int64_t now_ns);
    /// Since the count has changed last, at the last look.
    double seconds() const noexcept { return seconds_; }

    /// A flush of much may move nothing for longer than a rank may make others wait.
    static constexpr int most_patiences = 3;
    /// A longer time between two looks means that this process did not run.
    static constexpr std::int64_t longest_pause_ns = 2'000'000'000;

  private:
    double patience_seconds_;
    std::int64_t count_ = -1;
    std::int64_t since_ns_ = 0;
    std::int64_t last_look_ns_ = 0;
    double seconds_ = 0;
    int warnings_ = 0;
};

}  // namespace ziggurat::train
