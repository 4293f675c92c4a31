/// Errors of calls, as the host's threads see them.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace emulated_cuda {

/// An error, and what exactly was wrong.
struct Failure {
    cudaError_t error = cudaSuccess;
    std::string what = {};
};

/// Keeps a failure as the calling thread's last error, and returns its number.
cudaError_t give(const Failure& failure);

}  // namespace emulated_cuda
