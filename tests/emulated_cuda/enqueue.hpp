/// Work of the libraries that the emulated CUDA replaces.
#pragma once

#include <cuda_runtime.h>

#include <functional>

namespace emulated_cuda {

/// Runs `work` on `stream` after the work submitted before, as a library's kernels would.
///
/// `work` may access all memory that kernels may access. It must not throw, and must not call CUDA.
///
/// Errors: those of a launch
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace emulated_cuda
