/// Data and comparisons for the tests of kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "base/philox.hpp"
#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/host_workspaces.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"
#include "tests/support/test_stream.hpp"

namespace ziggurat::test {

/// Runs `body` so that its kernels use the calling thread alone.
template <class Body>
void on_one_thread(const Body& body) {
#pragma omp parallel num_threads(1)
    body(TestStream{1});
}

/// Standard normal values times `scale`, rounded to T.
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

/// Exactly as large as the memory plan has it.
inline std::vector<std::byte> column_sum_workspace(std::int64_t width) {
    return std::vector<std::byte>(
        static_cast<std::size_t>(tests_on_cuda() ? layout::CudaWorkspaces::column_sum_bytes(width)
                                                 : layout::HostWorkspaces::column_sum_bytes(width)));
}

/// |got - expected| / |expected| in the Euclidean norm; NaN where lengths differ.
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

/// The change of value() per change of `x`, from both sides.
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

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// Bounds of relative_error: rounding of the results for bfloat16 (unit 2^-9), of sums for float.
template <class T>
inline constexpr double bound = 1e-6;
template <>
inline constexpr double bound<tensor::bfloat16> = 3e-3;

struct Extents {
    std::int64_t rows;
    std::int64_t width;
};
/// Widths that no vector length divides, up to more than a GPU's block takes at once, and rows that no number
/// of blocks or threads divides.
inline constexpr Extents odd_extents[] = {{1, 1}, {3, 1}, {1, 37}, {67, 37}, {5, 129}, {33, 768}, {2, 2065}};
/// Of norms; on a GPU also rows wider than it has registers for.
inline std::vector<Extents> norm_extents() {
    std::vector<Extents> all(std::begin(odd_extents), std::end(odd_extents));
    if (tests_on_cuda()) {
        all.insert(all.end(), {{9, 4100}, {6, 8200}});
    }
    return all;
}

}  // namespace ziggurat::test
