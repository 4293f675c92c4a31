/// Distances of computed tensors from an oracle's, in the 2-norm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::test {

/// Sums of squared differences and of squared oracle values, to be added over tensors.
struct SquaredGap {
    double difference = 0;
    double oracle = 0;

    SquaredGap& operator+=(const SquaredGap& other) {
        difference += other.difference;
        oracle += other.oracle;
        return *this;
    }
    /// Returns |a - b| / max(|b|, floor).
    double relative(double floor = 0) const {
        return std::sqrt(difference) /
               std::max({std::sqrt(oracle), floor, std::numeric_limits<double>::min()});
    }
};

/// Computes the sums of one tensor.
///
/// Numerics: in double; a NaN or unequal sizes give an infinite difference.
inline SquaredGap squared_gap(std::span<const float> ours, std::span<const float> oracle) {
    SquaredGap gap;
    // Pointers: tests are compiled without optimisation, and this loop is a tenth of some.
    const float* const mine = ours.data();
    const float* const theirs = oracle.data();
    const std::size_t size = oracle.size();
    const std::size_t both = std::min(ours.size(), size);
    for (std::size_t i = 0; i < both; ++i) {
        const double difference = double(mine[i]) - double(theirs[i]);
        gap.difference += difference * difference;
    }
    for (std::size_t i = 0; i < size; ++i) {
        gap.oracle += double(theirs[i]) * double(theirs[i]);
    }
    if (ours.size() != size || std::isnan(gap.difference)) {
        gap.difference = HUGE_VAL;
    }
    return gap;
}

/// Returns |a - b| / |b| of one tensor.
inline double norm_gap(std::span<const float> ours, std::span<const float> oracle) {
    return squared_gap(ours, oracle).relative();
}

/// Returns each gradient's |a - b| over max(|b|, 1e-3 |all of the oracle's tensors|).
///
/// `Tensors` maps names to objects with `values`. A tensor missing in `ours` has an infinite gap.
template <class Tensors>
std::map<std::string, double> gradient_gaps(const std::map<std::string, std::vector<float>>& ours,
                                            const Tensors& oracle) {
    SquaredGap all;
    for (const auto& [name, tensor] : oracle) {
        all += squared_gap(tensor.values, tensor.values);
    }
    std::map<std::string, double> gaps;
    for (const auto& [name, tensor] : oracle) {
        const auto found = ours.find(name);
        const auto values = found == ours.end() ? std::span<const float>{} : std::span{found->second};
        gaps[name] = squared_gap(values, tensor.values).relative(1e-3 * std::sqrt(all.oracle));
    }
    return gaps;
}

/// True for GPT-2's key biases: their true gradient is zero, and AdamW turns its rounding into full
/// steps.
inline bool is_key_bias(const std::string& parameter) {
    return parameter.ends_with("attention.k.bias");
}

}  // namespace ziggurat::test
