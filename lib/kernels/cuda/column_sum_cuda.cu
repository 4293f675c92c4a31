#include "kernels/column_sum.hpp"

#include "kernels/cuda/column_sums_cuda.hpp"
#include "kernels/cuda/sibling_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(256) sum_rows(ColumnSums sums, const T* dy) {
    const auto block = sums.block();
    if (block >= ColumnSums::blocks) {
        return;
    }
    const auto column = sums.column();
    float total = 0;
    for (auto row = sums.first_row(block); row < sums.first_row(block + 1); ++row) {
        total += float(dy[row * sums.width + column]);
    }
    sums.partial(block, 0, column) = total;
}

}  // namespace

template <class T>
void column_sum(const device::Stream& stream,
                tensor::TensorRef<const T, 2> dy,
                tensor::TensorRef<float, 1> out,
                Accumulate accumulate,
                std::span<std::byte> workspace) {
    const ColumnSums sums{dy.extent(0), dy.extent(1), workspace};
    launch_grid(stream, "column_sum", sums.grid(), sum_rows<T>, sums, dy.data);
    finish(stream, sums, 0, accumulate, out);
}

ZG_CUDA_SIBLING(column_sum<float>);
ZG_CUDA_SIBLING(column_sum<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
