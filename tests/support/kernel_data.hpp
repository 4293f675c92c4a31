/// Data and comparisons for the tests of kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "base/philox.hpp"
#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/host_workspaces.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"
#include "tests/support/device/test_stream.hpp"

namespace ziggurat::test {

/// Runs `body` with kernels that use only the calling thread.
template <class Body>
void on_one_thread(const Body& body) {
#pragma omp parallel num_threads(1)
    body(TestStream{1});
}

/// Returns standard normal values times `scale`, rounded to T.
template <class T>
std::vector<T> normal_values(std::int64_t count, std::uint32_t seed, float scale = 1) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto words = Philox4x32::generate({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0x7e57u});
        values.push_back(T(scale * normal_pair(words[0], words[1])[0]));
    }
    return values;
}

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
    std::vector<double> result;
    for (const T value : values) {
        result.push_back(double(float(value)));
    }
    return result;
}

template <class T>
tensor::TensorRef<T, 2> matrix(std::vector<T>& values, std::int64_t rows, std::int64_t width) {
    return {values.data(), {rows, width}};
}

template <class T>
tensor::TensorRef<T, 1> row(std::vector<T>& values) {
    return {values.data(), {static_cast<std::int64_t>(values.size())}};
}

/// Returns a workspace of exactly the size in the memory plan.
inline std::vector<std::byte> column_sum_workspace(std::int64_t width) {
    return std::vector<std::byte>(
        static_cast<std::size_t>(tests_on_cuda() ? layout::CudaWorkspaces::column_sum_bytes(width)
                                                 : layout::HostWorkspaces::column_sum_bytes(width)));
}

/// Returns |got - expected| / |expected| in the Euclidean norm; NaN if the lengths differ.
template <class T>
double relative_error(const std::vector<T>& got, const std::vector<double>& expected) {
    if (got.size() != expected.size()) {
        return std::nan("");
    }
    double error = 0;
    double norm = 1e-30;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double difference = double(float(got[i])) - expected[i];
        error += difference * difference;
        norm += expected[i] * expected[i];
    }
    return std::sqrt(error / norm);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Returns the central difference quotient of value() with respect to `x`.
template <class Value>
double finite_difference(double& x, const Value& value) {
    const double step = 1e-5;
    const double at = x;
    x = at + step;
    const double above = value();
    x = at - step;
    const double below = value();
    x = at;
    return (above - below) / (2 * step);
}

/// Returns the largest difference between `gradient` and the finite differences of value() in `x`.
///
/// It is infinite if a difference is NaN.
template <class Value>
double gap_to_finite_differences(std::vector<double>& x,
                                 const std::vector<double>& gradient,
                                 const Value& value) {
    double gap = x.size() == gradient.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < x.size() && i < gradient.size(); ++i) {
        const double difference = std::abs(finite_difference(x[i], value) - gradient[i]);
        gap = std::max(gap, std::isnan(difference) ? HUGE_VAL : difference);
    }
    return gap;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// Bounds of relative_error: for bfloat16 the rounding of the results (unit 2^-9), for float that of
/// sums.
template <class T>
inline constexpr double bound = 1e-6;
template <>
inline constexpr double bound<tensor::bfloat16> = 3e-3;

struct Extents {
    std::int64_t rows;
    std::int64_t width;
};
/// Widths that no vector length divides, and rows that no number of blocks or threads divides.
///
/// The largest width exceeds what a GPU's block processes at once.
inline constexpr Extents odd_extents[] = {{1, 1}, {3, 1}, {1, 37}, {67, 37}, {5, 129}, {33, 768}, {2, 2065}};
/// Returns the extents for norms; on a GPU including rows too wide for its registers.
inline std::vector<Extents> norm_extents() {
    std::vector<Extents> all(std::begin(odd_extents), std::end(odd_extents));
    if (tests_on_cuda()) {
        all.insert(all.end(), {{9, 4100}, {6, 8200}});
    }
    return all;
}

}  // namespace ziggurat::test
