#include "comm/nccl/sum_pieces_cuda.hpp"

#include <cstdint>

#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm {
namespace {

constexpr int threads_of_block = 256;

/// Consecutive elements that a thread loads at once.
template <class T, int width>
struct alignas(width * sizeof(T)) Pack {
    T values[width];
};

/// Elements of 16 bytes, the longest load.
template <class T>
constexpr int longest = 16 / static_cast<int>(sizeof(T));

template <class T, int width>
__device__ Pack<T, width> addend(const PieceAddends& addends, int member, std::int64_t i) {
    const auto address = member < addends.rank ? member : member - 1;
    const auto* const from =
        member == addends.rank ? addends.own : addends.received + address * addends.apart_bytes;
    return reinterpret_cast<const Pack<T, width>*>(from)[i];
}

/// Folds with one thread per pack; ranges of `group` members are summed before they are added.
template <class T, int width>
__global__ void __launch_bounds__(threads_of_block)
    fold_addends(PieceAddends addends, int group, std::int64_t packs, T* to) {
    const auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= packs) {
        return;
    }
    float total[width] = {};
    for (int first = 0; first < addends.size; first += group) {
        float part[width] = {};
        for (int member = first; member < addends.size && member < first + group; ++member) {
            const auto pack = addend<T, width>(addends, member, i);
#pragma unroll
            for (int e = 0; e < width; ++e) {
                part[e] = member == first ? float(pack.values[e]) : part[e] + float(pack.values[e]);
            }
        }
#pragma unroll
        for (int e = 0; e < width; ++e) {
            total[e] = first == 0 ? part[e] : total[e] + part[e];
        }
    }
    Pack<T, width> sum;
#pragma unroll
    for (int e = 0; e < width; ++e) {
        tensor::store(sum.values[e], total[e]);
    }
    reinterpret_cast<Pack<T, width>*>(to)[i] = sum;
}

template <class T, int width>
void load() {
    cudaFuncAttributes loaded;
    device::cuda::check(cudaFuncGetAttributes(&loaded, fold_addends<T, width>), "load the sum of pieces");
}

template <class T, int width>
void launch_packs(const device::Stream& stream, const PieceAddends& addends, T* to, std::int64_t packs) {
    if (packs == 0) {
        return;
    }
    const bool is_flat = addends.sum_group == 0 || addends.sum_group > addends.size;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>((packs + threads_of_block - 1) / threads_of_block));
    config.blockDim = dim3(threads_of_block);
    config.stream = device::cuda::handle_of(stream);
    device::cuda::check(cudaLaunchKernelEx(&config, fold_addends<T, width>, addends,
                                           is_flat ? addends.size : addends.sum_group, packs, to),
                        "sum pieces of a vector");
}

bool is_aligned(const PieceAddends& addends, const void* to) {
    const auto together =
        reinterpret_cast<std::uintptr_t>(addends.own) | reinterpret_cast<std::uintptr_t>(addends.received) |
        static_cast<std::uintptr_t>(addends.apart_bytes) | reinterpret_cast<std::uintptr_t>(to);
    return together % 16 == 0;
}

/// Sums with loads of 16 bytes as far as addresses and the number of elements allow it.
template <class T>
void launch(const device::Stream& stream,
            const PieceAddends& addends,
            std::byte* out,
            std::int64_t elements) {
    if (device::cuda::is_loading()) {
        static_cast<void>(device::cuda::handle_of(stream));  // makes its GPU current
        load<T, longest<T>>();
        load<T, 1>();
        return;
    }
    auto* const to = reinterpret_cast<T*>(out);
    const auto packs = is_aligned(addends, to) ? elements / longest<T> : 0;
    launch_packs<T, longest<T>>(stream, addends, to, packs);
    const auto summed = packs * longest<T>;
    auto rest = addends;
    rest.own += summed * static_cast<std::int64_t>(sizeof(T));
    rest.received += summed * static_cast<std::int64_t>(sizeof(T));
    launch_packs<T, 1>(stream, rest, to + summed, elements - summed);
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
