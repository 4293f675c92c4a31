#include "data/order/source_mix.hpp"

#include <cmath>
#include <numeric>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

/// Returns round(samples x share / 2^32) without overflow for any 63-bit `samples` and share <= 2^32.
std::int64_t share_of(std::int64_t samples, std::uint64_t share) {
    const auto wide = static_cast<std::uint64_t>(samples);
    const std::uint64_t low = (wide & 0xffffffffu) * share;  // < 2^64
    const std::uint64_t high = (wide >> 32) * share;         // <= 2^63
    return static_cast<std::int64_t>(high + (low >> 32) + (low >> 31 & 1u));
}

}  // namespace

NestedMix::NestedMix(std::span<const double> weights) {
    double rest = std::accumulate(weights.begin(), weights.end(), 0.0);
    ZG_EXPECTS(!weights.empty() && rest > 0);
    for (std::size_t s = 0; s + 1 < weights.size(); ++s) {
        ZG_EXPECTS(weights[s] >= 0);
        rest = std::accumulate(weights.begin() + static_cast<std::ptrdiff_t>(s), weights.end(), 0.0);
        shares_.push_back(rest > 0 ? static_cast<std::uint64_t>(std::llround(weights[s] / rest * 0x1p32))
                                   : std::uint64_t{1} << 32);
    }
    ZG_EXPECTS(weights.back() >= 0);
}

SourceMix::Pick NestedMix::pick(std::int64_t sample) const {
    ZG_EXPECTS(sample >= 0);
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        const std::int64_t before = share_of(sample, shares_[s]);
        if (share_of(sample + 1, shares_[s]) > before) {
            return {static_cast<int>(s), before};
        }
        sample -= before;
    }
    return {static_cast<int>(shares_.size()), sample};
}

void NestedMix::count(std::int64_t samples, std::span<std::int64_t> counts) const {
    ZG_EXPECTS(samples >= 0 && counts.size() == shares_.size() + 1);
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        counts[s] = share_of(samples, shares_[s]);
        samples -= counts[s];
    }
    counts.back() = samples;
}

}  // namespace ziggurat::data
