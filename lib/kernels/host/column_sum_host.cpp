#include "kernels/column_sum.hpp"
#include "kernels/host/column_sum_blocks_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

/// Adds rows [begin, end) of dy to sums. Each loop over the sums adds four rows.
template <class T>
void sum_rows(const T* dy, std::int64_t begin, std::int64_t end, float* sums, std::int64_t width) {
    std::int64_t row = begin;
    for (; row + 4 <= end; row += 4) {
        const T* a = dy + row * width;
        const T* b = a + width;
        const T* c = b + width;
        const T* d = c + width;
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i) {
            sums[i] += (float(a[i]) + float(b[i])) + (float(c[i]) + float(d[i]));
        }
    }
    for (; row < end; ++row) {
        const T* a = dy + row * width;
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i) {
            sums[i] += float(a[i]);
        }
    }
}

}  // namespace

template <class T>
void column_sum(const device::Stream&,
                tensor::TensorRef<const T, 2> dy,
                tensor::TensorRef<float, 1> out,
                Accumulate accumulate,
                std::span<std::byte> workspace) {
    const auto width = dy.extent(1);
    const ColumnSumBlocks blocks{dy.extent(0), width, workspace};
    blocks.for_each("ziggurat::column_sum", [=](std::int64_t begin, std::int64_t end, float* sums, float*) {
        sum_rows(dy.data, begin, end, sums, width);
    });
    blocks.finish(0, out, accumulate);
}

ZG_REGISTER_HOST_KERNEL(column_sum<float>);
ZG_REGISTER_HOST_KERNEL(column_sum<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
