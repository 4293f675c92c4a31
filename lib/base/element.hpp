/// ZG_ELEMENT: marks functions of single elements that host and device kernels share.
///
/// On the host, a marked function is inlined into the loop that calls it, so the compiler can vectorise that
/// loop. In a translation unit of nvcc, it is compiled for the host and for the device. It accesses only its
/// arguments, does not throw, and calls only marked functions, constexpr functions, or elementary functions
/// of <cmath>.
///
/// Fused operations are written std::fma. Compilers must not fuse others: -ffp-contract=off, -fmad=false.
///
/// The macro comes first: `ZG_ELEMENT inline float f(float x)`, `ZG_ELEMENT static constexpr ...`.
#pragma once

#ifdef __CUDACC__
#define ZG_ELEMENT __host__ __device__
#else
#define ZG_ELEMENT [[gnu::always_inline]]
#endif
