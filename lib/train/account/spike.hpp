/// Detection of a loss far above the losses before it.
#pragma once

#include <cmath>
#include <cstdint>

namespace ziggurat::train {

/// Compares each loss with the exponentially weighted mean and variance of the losses before it.
///
/// Collective: local; pure
class LossSpike {
  public:
    /// Returns true if `loss` is far above the usual losses. Then adds `loss` to the statistics.
    bool is_spike(double loss) noexcept {
        if (!std::isfinite(loss)) {
            return false;
        }
        const double above = loss - mean_;
        const bool found = seen_ >= min_seen && above > deviations * std::sqrt(variance_) &&
                           above > min_share * std::fabs(mean_);
        const double weight = seen_ < min_seen ? 1.0 / static_cast<double>(seen_ + 1) : newest_weight;
        mean_ += weight * above;
        variance_ = (1 - weight) * (variance_ + weight * above * above);
        ++seen_;
        return found;
    }

  private:
    static constexpr std::int64_t min_seen = 5;
    static constexpr double newest_weight = 0.1;
    static constexpr double deviations = 4;
    static constexpr double min_share = 0.02;  ///< needed because a constant loss has almost no variance

    double mean_ = 0;
    double variance_ = 0;
    std::int64_t seen_ = 0;
};

}  // namespace ziggurat::train
