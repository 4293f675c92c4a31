/// Tensor cores and asynchronous copies: one instruction each; only *_cuda.cu files include it.
///
/// Source: PTX ISA 8.7, "Matrix fragments for mma.m16n8k16", ldmatrix and cp.async. Compute capability 8.0.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/pack_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {

using tensor::bfloat16;

/// Left factor [16, 16] of a warp.
///
/// Lane 4 g + t has columns 2 t and 2 t + 1 of rows g, g + 8, then columns 2 t + 8 and 2 t + 9 of the same
/// rows.
using FragmentA = std::uint32_t[4];
/// Right factor [16, 8].
///
/// Lane 4 g + t has rows 2 t and 2 t + 1 of column g, then rows 2 t + 8 and 2 t + 9.
using FragmentB = std::uint32_t[2];
/// Sum [16, 8] in float. Lane 4 g + t has columns 2 t and 2 t + 1 of row g, then of row g + 8.
using FragmentC = float[4];

/// c += a b, with sums in float.
__device__ inline void multiply_add(FragmentC& c, const FragmentA& a, std::uint32_t b0, std::uint32_t b1) {
#ifdef __CUDACC__
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const std::uint32_t b[2] = {b0, b1};
    emulated_cuda::multiply_add(c, a, b);
#endif
}

/// Loads four matrices [8, 8] from shared memory.
///
/// Lane 8 i + r passes row r of matrix i; lane 4 g + t gets columns 2 t and 2 t + 1 of row g of each matrix.
/// \pre rows begin at multiples of 16 bytes
__device__ inline void load_matrices(std::uint32_t (&to)[4], const bfloat16* row) {
#ifdef __CUDACC__
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
#else
    emulated_cuda::load_matrices(to, row, false);
#endif
}

/// Loads the transpose of each matrix: lane 4 g + t gets rows 2 t and 2 t + 1 of column g.
__device__ inline void load_transposed_matrices(std::uint32_t (&to)[4], const bfloat16* row) {
#ifdef __CUDACC__
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
#else
    emulated_cuda::load_matrices(to, row, true);
#endif
}

/// Starts a copy of `bytes` (4 or 16) from global to shared memory.
///
/// If `exists` is false it writes zeros and does not read `from`. \pre both addresses are multiples of
/// `bytes`
template <int bytes>
__device__ inline void copy_async(void* to, const void* from, bool exists) {
    static_assert(bytes == 4 || bytes == 16);
#ifdef __CUDACC__
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
    const int size = exists ? bytes : 0;
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(address), "l"(from), "r"(size)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :
                     : "r"(address), "l"(from), "r"(size)
                     : "memory");
    }
#else
    emulated_cuda::copy_async(to, from, bytes, exists);
#endif
}

/// Closes the group of this thread's copies that were started since the last group.
__device__ inline void commit_copies() {
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" : : : "memory");
#else
    emulated_cuda::commit_copies();
#endif
}

/// Waits until at most `groups` groups of this thread's copies are in flight.
template <int groups>
__device__ inline void wait_for_copies() {
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory");
#else
    emulated_cuda::wait_for_copies(groups);
#endif
}

/// Returns 2^x by the special function unit, with an error of two units in the last place.
///
/// Returns 0 below -126.
__device__ inline float fast_exp2(float x) {
#ifdef __CUDACC__
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return std::exp2(x);
#endif
}

/// Returns the dynamic shared memory of the launch, which all kernels of a source file share.
__device__ inline bfloat16* block_memory() {
#ifdef __CUDACC__
    extern __shared__ __align__(16) unsigned char ziggurat_block_memory[];
    return reinterpret_cast<bfloat16*>(ziggurat_block_memory);
#else
    return static_cast<bfloat16*>(emulated_cuda::dynamic_shared());
#endif
}

}  // namespace ziggurat::kernels::cuda
