/// Device functions that kernels use, for a compiler without GPU support.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// The threads of a block run on one system thread.
#define __shared__ static thread_local

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;

    constexpr dim3() = default;
    constexpr dim3(unsigned vx, unsigned vy = 1, unsigned vz = 1) : x{vx}, y{vy}, z{vz} {}
};

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

namespace emulated_cuda {

using Place = std::source_location;

/// Waits at a barrier that every thread of a block, or of a warp, reaches at the same line of the
/// source.
void sync_block(const Place& where);
void sync_warp(const Place& where);
/// Sends `bits` to the warp and returns those of its 32 threads, valid until the next exchange.
const std::uint64_t* exchange(std::uint64_t bits, const Place& where);
/// Returns the index of the calling thread in its warp.
int lane();
/// Fails the kernel: it used a feature that GPUs or these stand-ins do not support.
[[noreturn]] void refuse(const char* what, const Place& where);
/// Fails the kernel at its own request.
[[noreturn]] void trap(const Place& where);

inline constexpr unsigned all_lanes = 0xffffffff;

/// Sends `value` to the lanes, and returns that of lane `from` of the same group of `width` lanes.
template <class T>
T shuffle(unsigned mask, T value, int from, int width, const Place& where) {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
    if (mask != all_lanes) {
        refuse("a shuffle among a part of the lanes", where);
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    const auto* const sent = exchange(bits, where);
    const int first = lane() / width * width;
    const int source = from < first || from >= first + width ? lane() : from;
    std::memcpy(&value, &sent[source], sizeof value);
    return value;
}

}  // namespace emulated_cuda

[[noreturn]] inline void __trap(const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    emulated_cuda::trap(where);
}

inline void __syncthreads(const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    emulated_cuda::sync_block(where);
}

inline void __syncwarp(unsigned mask = emulated_cuda::all_lanes,
                       const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    if (mask != emulated_cuda::all_lanes) {
        emulated_cuda::refuse("a barrier of a part of the lanes", where);
    }
    emulated_cuda::sync_warp(where);
}

template <class T>
T __shfl_sync(unsigned mask,
              T value,
              int from,
              int width = warpSize,
              const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    const int first = emulated_cuda::lane() / width * width;
    return emulated_cuda::shuffle(mask, value, first + (from & (width - 1)), width, where);
}

template <class T>
T __shfl_xor_sync(unsigned mask,
                  T value,
                  int bits,
                  int width = warpSize,
                  const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    return emulated_cuda::shuffle(mask, value, emulated_cuda::lane() ^ bits, width, where);
}

template <class T>
T __shfl_down_sync(unsigned mask,
                   T value,
                   unsigned distance,
                   int width = warpSize,
                   const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    const int from = emulated_cuda::lane() + static_cast<int>(distance);
    return emulated_cuda::shuffle(mask, value, from, width, where);
}

template <class T>
T __shfl_up_sync(unsigned mask,
                 T value,
                 unsigned distance,
                 int width = warpSize,
                 const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    const int from = emulated_cuda::lane() - static_cast<int>(distance);
    return emulated_cuda::shuffle(mask, value, from, width, where);
}

inline unsigned __ballot_sync(unsigned mask,
                              int predicate,
                              const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    if (mask != emulated_cuda::all_lanes) {
        emulated_cuda::refuse("a ballot of a part of the lanes", where);
    }
    const auto* const sent = emulated_cuda::exchange(predicate != 0 ? 1 : 0, where);
    unsigned votes = 0;
    for (int i = 0; i < warpSize; ++i) {
        votes |= static_cast<unsigned>(sent[i]) << i;
    }
    return votes;
}

inline int __any_sync(unsigned mask,
                      int predicate,
                      const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    return __ballot_sync(mask, predicate, where) != 0 ? 1 : 0;
}

inline int __all_sync(unsigned mask,
                      int predicate,
                      const emulated_cuda::Place& where = emulated_cuda::Place::current()) {
    return __ballot_sync(mask, predicate, where) == emulated_cuda::all_lanes ? 1 : 0;
}

/// Types with emulated atomics. Floats are excluded: their sums would depend on the order of threads.
template <class T>
concept AtomicInteger =
    std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;

template <AtomicInteger T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <AtomicInteger T>
T atomicOr(T* at, std::type_identity_t<T> value) {
    return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <AtomicInteger T>
T atomicMax(T* at, std::type_identity_t<T> value) {
    T before = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (before < value &&
           !__atomic_compare_exchange_n(at, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return before;
}

inline int __popc(unsigned bits) {
    return std::popcount(bits);
}
inline int __ffs(int bits) {
    return __builtin_ffs(bits);
}
inline int __clz(int bits) {
    return std::countl_zero(static_cast<unsigned>(bits));
}
inline unsigned __float_as_uint(float value) {
    return std::bit_cast<unsigned>(value);
}
inline float __uint_as_float(unsigned bits) {
    return std::bit_cast<float>(bits);
}
