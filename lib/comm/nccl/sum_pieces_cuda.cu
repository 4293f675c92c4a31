#include "comm/nccl/sum_pieces_cuda.hpp"

#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm {
namespace {

constexpr int threads_of_block = 256;

template <class T>
__device__ float addend(const PieceAddends& addends, int member, std::int64_t i) {
    if (member == addends.rank) {
        return float(reinterpret_cast<const T*>(addends.own)[i]);
    }
    const auto address = member < addends.rank ? member : member - 1;
    return float(reinterpret_cast<const T*>(addends.received + address * addends.apart_bytes)[i]);
}

/// Folds with one thread per element; ranges of `group` members are summed before they are added.
template <class T>
__global__ void __launch_bounds__(threads_of_block)
    fold_addends(PieceAddends addends, int group, std::int64_t elements, T* to) {
    const auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= elements) {
        return;
    }
    float total = 0;
    for (int first = 0; first < addends.size; first += group) {
        float part = addend<T>(addends, first, i);
        for (int member = first + 1; member < addends.size && member < first + group; ++member) {
            part += addend<T>(addends, member, i);
        }
        total = first == 0 ? part : total + part;
    }
    tensor::store(to[i], total);
}

template <class T>
void launch(const device::Stream& stream, const PieceAddends& addends, std::byte* to, std::int64_t elements) {
    if (device::cuda::is_loading()) {
        cudaFuncAttributes loaded;
        static_cast<void>(device::cuda::handle_of(stream));  // makes its GPU current
        device::cuda::check(cudaFuncGetAttributes(&loaded, fold_addends<T>), "load the sum of pieces");
        return;
    }
    const bool is_flat = addends.sum_group == 0 || addends.sum_group > addends.size;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>((elements + threads_of_block - 1) / threads_of_block));
    config.blockDim = dim3(threads_of_block);
    config.stream = device::cuda::handle_of(stream);
    device::cuda::check(
        cudaLaunchKernelEx(&config, fold_addends<T>, addends, is_flat ? addends.size : addends.sum_group,
                           elements, reinterpret_cast<T*>(to)),
        "sum pieces of a vector");
}

}  // namespace

void sum_pieces(const device::Stream& stream,
                const PieceAddends& addends,
                std::byte* to,
                std::int64_t elements,
                spec::DType type) {
    type == spec::DType::f32 ? launch<float>(stream, addends, to, elements)
                             : launch<tensor::bfloat16>(stream, addends, to, elements);
}

}  // namespace ziggurat::comm
