/// Stand-ins for the instructions of lib/kernels/cuda/fragments_cuda.hpp.
///
/// They are matrix products of a warp, and asynchronous copies.
#pragma once

#include <cstdint>

#include "emulated_cuda/device.hpp"

namespace emulated_cuda {

/// mma.m16n8k16 of bfloat16 with sums in float, over the inner index in ascending order.
void multiply_add(float (&c)[4],
                  const std::uint32_t (&a)[4],
                  const std::uint32_t (&b)[2],
                  const Place& where = Place::current());
/// ldmatrix.x4 of 16-bit elements. Rejects rows that do not begin at a multiple of 16 bytes.
void load_matrices(std::uint32_t (&to)[4],
                   const void* row,
                   bool is_transposed,
                   const Place& where = Place::current());

/// cp.async: copies when the thread waits for the copy's group, so that a missing wait gives wrong
/// results.
void copy_async(void* to, const void* from, int bytes, bool exists, const Place& where = Place::current());
void commit_copies();
void wait_for_copies(int groups);

/// Returns the launch's dynamic shared memory, filled with NaN when a block begins.
void* dynamic_shared();

}  // namespace emulated_cuda
