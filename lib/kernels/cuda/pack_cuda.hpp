/// Adjacent elements, moved 16 bytes at a time; only *_cuda.cu files include it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {

/// Elements that a thread processes at a time: 16 bytes of bfloat16, two times 16 of float.
inline constexpr int pack = 8;

/// Operand of one 16-byte load or store.
template <class T>
struct alignas(16) SixteenBytes {
    static constexpr int count = 16 / sizeof(T);
    T element[count];
};

/// Returns true if all addresses allow 16-byte access; null addresses do not count.
template <class... T>
bool are_aligned(const T*... addresses) {
    return ((reinterpret_cast<std::uintptr_t>(addresses) % 16 == 0) && ...);
}

/// Loads the `pack` elements at `from` as floats. \pre aligned to 16 bytes
template <class T>
__device__ inline void load_pack(const T* from, float (&to)[pack]) {
#pragma unroll
    for (int line = 0; line < pack / SixteenBytes<T>::count; ++line) {
        const auto read = reinterpret_cast<const SixteenBytes<T>*>(from)[line];
#pragma unroll
        for (int i = 0; i < SixteenBytes<T>::count; ++i) {
            to[line * SixteenBytes<T>::count + i] = float(read.element[i]);
        }
    }
}

/// Rounds two values to bfloat16 and packs them, the first in the lower half.
__device__ inline std::uint32_t pack_pair(float first, float second) {
#ifdef __CUDACC__
    std::uint32_t result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(second), "f"(first));
    return result;
#else
    return tensor::bfloat16{first}.bits | static_cast<std::uint32_t>(tensor::bfloat16{second}.bits) << 16;
#endif
}

/// Rounds to bfloat16. \pre aligned to 16 bytes
__device__ inline void store_pack(tensor::bfloat16* to, const float (&from)[pack]) {
    SixteenBytes<std::uint32_t> written;
#pragma unroll
    for (int i = 0; i < pack / 2; ++i) {
        written.element[i] = pack_pair(from[2 * i], from[2 * i + 1]);
    }
    *reinterpret_cast<SixteenBytes<std::uint32_t>*>(to) = written;
}

/// \pre aligned to 16 bytes
template <class T>
__device__ inline void store_pack(T* to, const float (&from)[pack]) {
#pragma unroll
    for (int line = 0; line < pack / SixteenBytes<T>::count; ++line) {
        SixteenBytes<T> written;
#pragma unroll
        for (int i = 0; i < SixteenBytes<T>::count; ++i) {
            tensor::store(written.element[i], from[line * SixteenBytes<T>::count + i]);
        }
        reinterpret_cast<SixteenBytes<T>*>(to)[line] = written;
    }
}

}  // namespace ziggurat::kernels::cuda
