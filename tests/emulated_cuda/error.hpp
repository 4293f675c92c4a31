/// Errors of calls, as host threads see them.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace emulated_cuda {

/// An error and its exact cause.
struct Failure {
    cudaError_t error = cudaSuccess;
    std::string what = {};
};

/// Stores a failure as the calling thread's last error, and returns its code.
cudaError_t report_error(const Failure& failure);

}  // namespace emulated_cuda
