/// Short samples of one rate, of which the best is used.
#pragma once

#include <algorithm>
#include <limits>

namespace ziggurat::app {

/// Best rate of many short samples.
///
/// On a shared machine, other processes slow down most samples, and nothing makes a sample too fast. The best
/// of many short samples is therefore closest to the peak of the machine.
class RateSamples {
  public:
    static constexpr int min = 2;           ///< minimum number; the first touch memory and wake the processor
    static constexpr int max = 100;         ///< maximum number; more do not improve the result
    static constexpr int steady = 10;       ///< number in a row without a faster one, at which sampling stops
    static constexpr double enough = 0.98;  ///< share of the known rate at which sampling stops

    /// \param work        work of a sample, such as its FLOP
    /// \param known_rate  best rate that was ever measured; 0 = unknown
    /// \param timeout_s  seconds for all samples
    RateSamples(double work, double known_rate, double timeout_s)
        : work_{work}, known_rate_{known_rate}, timeout_s_{timeout_s} {}

    /// Returns false if the known rate has been reached, or the time or number of samples is used up.
    ///
    /// Without a known rate, also if samples no longer improve. Below a known rate that does not count:
    /// another process may compute.
    bool wants_more() const noexcept {
        const bool can_improve = known_rate_ > 0 ? best() < enough * known_rate_ : since_best_ < steady;
        return count_ < min || (count_ < max && spent_s_ < timeout_s_ && can_improve);
    }

    void add(double seconds) noexcept {
        ++count_;
        spent_s_ += seconds;
        since_best_ = seconds < faster * min_s_ ? 0 : since_best_ + 1;
        min_s_ = std::min(min_s_, std::max(seconds, shortest_s));
    }

    /// Returns the work per second of the fastest sample; 0 before the first sample.
    double best() const noexcept { return count_ > 0 ? work_ / min_s_ : 0; }

  private:
    static constexpr double shortest_s = 1e-9;  ///< resolution of the clock
    static constexpr double faster = 0.99;      ///< share of the shortest time below which a sample is faster

    double work_, known_rate_, timeout_s_;
    int count_ = 0;
    int since_best_ = 0;
    double spent_s_ = 0;
    double min_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace ziggurat::app
