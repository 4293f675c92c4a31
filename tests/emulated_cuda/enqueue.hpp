/// Work of libraries that the emulated CUDA stands in for.
#pragma once

#include <cuda_runtime.h>

#include <functional>

namespace emulated_cuda {

/// Runs `work` behind what `stream` was given before, as a library's kernels would. It may use all memory
/// that kernels may, throws nothing and calls nothing of CUDA.
///
/// Errors: those of a launch
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace emulated_cuda
