#include <algorithm>
#include <cstdint>
#include <mutex>

#include "kernels/element/square_sums.hpp"
#include "kernels/gradient_norm.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

constexpr std::int64_t blocks_per_slice = 1024;

/// Sums slices in parallel. The order in which they are merged does not change the bits.
template <class E, class AddSlice>
void sum_slices(const char* name, std::span<const E> values, const AddSlice& add_slice, ExactSum& into) {
    constexpr std::int64_t slice = blocks_per_slice * square_block;
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
