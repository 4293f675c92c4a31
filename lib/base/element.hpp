/// ZG_ELEMENT: marks arithmetic of single elements, which the kernels of all processors share.
///
/// A function that is marked becomes part of the loop that calls it, which a compiler can then vectorise; in
/// a translation unit of nvcc it is code of the host and of the device. It touches what it is given alone,
/// throws nothing, and calls only functions that are marked, constexpr, or elementary ones of <cmath>. Fused
/// operations are spelled std::fma, and nobody may fuse others: -ffp-contract=off, nvcc -fmad=false.
///
/// It stands first: `ZG_ELEMENT inline float f(float x)`, `ZG_ELEMENT static constexpr ...`.
#pragma once

#ifdef __CUDACC__
#define ZG_ELEMENT __host__ __device__
#else
#define ZG_ELEMENT [[gnu::always_inline]]
#endif
