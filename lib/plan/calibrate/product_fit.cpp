#include "plan/calibrate/product_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::size_t num_unknowns = 5;
/// Logarithms of flops, half_m, half_n, half_k and the seconds of a call.
using Unknowns = std::array<double, num_unknowns>;

// Bounds of the halves and of calls. At the lower bounds they have no effect.
constexpr double min_half = 0.05;
constexpr double max_half = 1e5;
constexpr double min_call = 1e-10;
constexpr double max_call = 1e-2;
/// Share of the shortest measured time at which the search for the time of a call begins.
constexpr double first_call = 0.1;
constexpr double first_halves[] = {1, 16, 128, 1024};
constexpr double nanosecond = 1e-9;
constexpr int max_steps = 200;
/// A step that reduces the sum of squares by less than this share is the last one.
constexpr double smallest_gain = 1e-10;
/// Difference of a logarithm for derivatives.
constexpr double increment = 1e-5;

spec::ProductRate rate_of(const Unknowns& x) {
    return {.flops = std::exp(x[0]),
            .half_m = std::exp(x[1]),
            .half_n = std::exp(x[2]),
            .half_k = std::exp(x[3]),
            .call = std::exp(x[4])};
}

double log_ratio(const ProductSample& sample, const spec::ProductRate& rate, const ProductMemory& memory) {
    return std::log(product_seconds(sample.extents, rate, memory) / sample.seconds);
}

double sum_of_squares(std::span<const ProductSample> samples,
                      const spec::ProductRate& rate,
                      const ProductMemory& memory) {
    double sum = 0;
    for (const auto& sample : samples) {
        const double residual = log_ratio(sample, rate, memory);
        sum += residual * residual;
    }
    return sum;
}

void keep_in_bounds(Unknowns& x) {
    for (std::size_t i = 1; i < 4; ++i) {
        x[i] = std::clamp(x[i], std::log(min_half), std::log(max_half));
    }
    x[4] = std::clamp(x[4], std::log(min_call), std::log(max_call));
}

/// Normal equations of the linearized problem: matrix and right-hand side.
struct NormalEquations {
    std::array<Unknowns, num_unknowns> matrix{};
    Unknowns right{};
};

NormalEquations linearize(std::span<const ProductSample> samples,
                          const Unknowns& x,
                          const ProductMemory& memory) {
    NormalEquations sums;
    std::array<spec::ProductRate, num_unknowns> moved;
    for (std::size_t i = 0; i < num_unknowns; ++i) {
        auto other = x;
        other[i] += increment;
        moved[i] = rate_of(other);
    }
    const auto rate = rate_of(x);
    for (const auto& sample : samples) {
        const double residual = log_ratio(sample, rate, memory);
        Unknowns slope;
        for (std::size_t i = 0; i < num_unknowns; ++i) {
            slope[i] = (log_ratio(sample, moved[i], memory) - residual) / increment;
        }
        for (std::size_t i = 0; i < num_unknowns; ++i) {
            sums.right[i] -= slope[i] * residual;
            for (std::size_t j = 0; j < num_unknowns; ++j) {
                sums.matrix[i][j] += slope[i] * slope[j];
            }
        }
    }
    return sums;
}

/// Solves (matrix + damping) step = right, by elimination. The damped matrix is positive definite.
Unknowns damped_step(NormalEquations equations, double damping) {
    auto& [matrix, right] = equations;
    for (std::size_t i = 0; i < num_unknowns; ++i) {
        matrix[i][i] = matrix[i][i] * (1 + damping) + damping * 1e-6;
    }
    for (std::size_t i = 0; i < num_unknowns; ++i) {
        for (std::size_t row = i + 1; row < num_unknowns; ++row) {
            const double factor = matrix[row][i] / matrix[i][i];
            for (std::size_t column = i; column < num_unknowns; ++column) {
                matrix[row][column] -= factor * matrix[i][column];
            }
            right[row] -= factor * right[i];
        }
    }
    Unknowns step{};
    for (std::size_t i = num_unknowns; i-- > 0;) {
        double rest = right[i];
        for (std::size_t column = i + 1; column < num_unknowns; ++column) {
            rest -= matrix[i][column] * step[column];
        }
        step[i] = rest / matrix[i][i];
    }
    return step;
}

/// Returns the unknowns of the minimum that is reached from `x`, and its sum of squares.
std::pair<Unknowns, double> descend(std::span<const ProductSample> samples,
                                    Unknowns x,
                                    const ProductMemory& memory) {
    double sum = sum_of_squares(samples, rate_of(x), memory);
    double damping = 1e-2;
    for (int step = 0; step < max_steps && damping < 1e9; ++step) {
        const auto by = damped_step(linearize(samples, x, memory), damping);
        auto next = x;
        for (std::size_t i = 0; i < num_unknowns; ++i) {
            next[i] += by[i];
        }
        keep_in_bounds(next);
        const double next_sum = sum_of_squares(samples, rate_of(next), memory);
        if (!(next_sum < sum)) {
            damping *= 4;
            continue;
        }
        const double gain = sum - next_sum;
        x = next;
        sum = next_sum;
        damping /= 3;
        if (gain < smallest_gain * sum) {
            break;
        }
    }
    return {x, sum};
}

}  // namespace

spec::ProductRate fit_products(std::span<const ProductSample> samples, const ProductMemory& memory) {
    ZG_EXPECTS(!samples.empty());
    double highest = 0;
    double shortest = std::numeric_limits<double>::infinity();
    for (const auto& sample : samples) {
        ZG_EXPECTS(sample.extents.flops() > 0 && sample.seconds > 0);
        highest = std::max(highest, sample.extents.flops() / sample.seconds);
        shortest = std::min(shortest, sample.seconds);
    }
    std::pair<Unknowns, double> best{{}, std::numeric_limits<double>::infinity()};
    for (const double half : first_halves) {
        const auto found = descend(samples,
                                   {std::log(highest), std::log(half), std::log(half), std::log(half),
                                    std::log(first_call * shortest)},
                                   memory);
        best = found.second < best.second ? found : best;
    }
    const auto rate = rate_of(best.first);
    return {.flops = std::round(rate.flops),
            .half_m = std::round(rate.half_m),
            .half_n = std::round(rate.half_n),
            .half_k = std::round(rate.half_k),
            .call = std::round(rate.call / nanosecond) * nanosecond};
}

double fit_error(std::span<const ProductSample> samples,
                 const spec::ProductRate& rate,
                 const ProductMemory& memory) {
    ZG_EXPECTS(!samples.empty());
    return std::sqrt(sum_of_squares(samples, rate, memory) / static_cast<double>(samples.size()));
}

}  // namespace ziggurat::plan
