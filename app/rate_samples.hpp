/// RateSamples: short samples of one rate, of which the best counts.
#pragma once

#include <algorithm>
#include <limits>

namespace ziggurat::app {

/// On a machine that others use as well most samples are slow, and none is too fast: the best of many short
/// ones is nearest to what the machine can do.
class RateSamples {
  public:
    static constexpr int least = 2;         ///< the first of them touch memory and wake the processor
    static constexpr int most = 100;        ///< beyond, there is nothing new to see
    static constexpr double enough = 0.98;  ///< of what is known, to look no further

    /// \param work        of a sample, such as its FLOP
    /// \param known_rate  the best that was ever seen; 0: none
    /// \param patience_s  seconds for all samples
    RateSamples(double work, double known_rate, double patience_s)
        : work_{work}, known_rate_{known_rate}, patience_s_{patience_s} {}

    /// False when what is known has been reached, or nothing better is to be expected in time.
    bool wants_more() const noexcept {
        return count_ < least || (count_ < most && spent_s_ < patience_s_ &&
                                  (known_rate_ <= 0 || best() < enough * known_rate_));
    }

    void add(double seconds) noexcept {
        ++count_;
        spent_s_ += seconds;
        least_s_ = std::min(least_s_, std::max(seconds, shortest_s));
    }

    /// Work per second of the fastest; 0 before there is one.
    double best() const noexcept { return count_ > 0 ? work_ / least_s_ : 0; }

  private:
    static constexpr double shortest_s = 1e-9;  ///< that a clock can tell

    double work_, known_rate_, patience_s_;
    int count_ = 0;
    double spent_s_ = 0;
    double least_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace ziggurat::app
