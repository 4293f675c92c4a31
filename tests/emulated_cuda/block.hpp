/// Blocks of a grid, run on the calling thread.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace emulated_cuda {

struct Grid {
    dim3 blocks;
    dim3 threads;
    std::size_t shared_bytes;  ///< dynamic
    const void* kernel;        ///< its address, by which an error names it
    std::function<void()> thread;
};

/// Runs all blocks, one after another. Nothing is said where all went well.
///
/// \param error  set to what a GPU would end with, when something is said
std::string run_grid(const Grid& grid, cudaError_t& error);

/// Whether the calling thread is in a thread of a block.
bool is_in_kernel() noexcept;
/// Says what ends the grid, and ends it from there. Nothing on the stack may own memory then.
void say_why_kernel_ends(std::string what);
[[noreturn]] void end_kernel(cudaError_t error);

}  // namespace emulated_cuda
