#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "kernels/gradient_norm.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

constexpr std::int64_t block_elements = 256;
constexpr std::int64_t lanes = 32;
constexpr std::int64_t blocks_per_slice = 1024;

[[gnu::always_inline]] inline double fold(double (&lane)[lanes]) {
    for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
#pragma omp simd
        for (std::int64_t j = 0; j < half; ++j) {
            lane[j] += lane[j + half];
        }
    }
    return lane[0];
}

/// Returns the sum of squares of a whole block.
///
/// Lane j sums elements j, j + 32, ...; then the lanes are folded in halves.
template <class E>
double block_squares(const E* x) {
    double lane[lanes] = {};
    for (std::int64_t i = 0; i < block_elements; i += lanes) {
#pragma omp simd
        for (std::int64_t j = 0; j < lanes; ++j) {
            const double element = float(x[i + j]);
            lane[j] = std::fma(element, element, lane[j]);
        }
    }
    return fold(lane);
}

/// Adds a short block as if it were padded with zeros.
template <class E>
void add_squares(const E* x, std::int64_t count, ExactSum& into) {
    std::int64_t begin = 0;
    for (; begin + block_elements <= count; begin += block_elements) {
        into.add(block_squares(x + begin));
    }
    if (begin < count) {
        E rest[block_elements] = {};
        std::copy_n(x + begin, count - begin, rest);
        into.add(block_squares(rest));
    }
}

/// Sums slices in parallel. The order in which they are merged does not change the bits.
template <class E, class AddSlice>
void sum_slices(const char* name, std::span<const E> values, const AddSlice& add_slice, ExactSum& into) {
    constexpr std::int64_t slice = blocks_per_slice * block_elements;
    const auto size = static_cast<std::int64_t>(values.size());
    std::mutex merging;
    for_rows(name, (size + slice - 1) / slice, [&](std::int64_t index) {
        ExactSum sum;
        add_slice(values.data() + index * slice, std::min(slice, size - index * slice), sum);
        const std::lock_guard lock{merging};
        into.merge(sum);
    });
}

}  // namespace

template <class E>
void sum_of_squares(const device::Stream&, std::span<const E> gradient, ExactSum* into) {
    sum_slices("ziggurat::sum_of_squares", gradient, add_squares<E>, *into);
}

ZG_REGISTER_HOST_KERNEL(sum_of_squares<float>);
ZG_REGISTER_HOST_KERNEL(sum_of_squares<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
