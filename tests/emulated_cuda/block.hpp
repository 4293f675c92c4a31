/// Blocks of a grid, run on the calling thread.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace emulated_cuda {

struct Grid {
    dim3 blocks;
    dim3 threads;
    std::size_t shared_bytes;  ///< dynamic shared memory
    const void* kernel;        ///< its address, used for its name in errors
    std::function<void()> thread;
};

/// Runs all blocks, one after another. Returns a description of the failure, empty on success.
///
/// \param error  set to the error of a GPU if there is a failure
std::string run_grid(const Grid& grid, cudaError_t& error);

/// Returns true if the caller is a thread of a block.
bool is_in_kernel() noexcept;
/// Records the failure of the grid. end_kernel() then ends it; no object on the stack may own memory.
void print_kernel_end_reason(std::string what);
[[noreturn]] void end_kernel(cudaError_t error);

}  // namespace emulated_cuda
