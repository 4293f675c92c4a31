/// Checks that calls of the runtime make first.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// Returns the current GPU of the calling thread.
int current_device();

/// Returns the failure of a call on a GPU, before it does anything.
Failure before_call(int device);
/// Same for a call that submits work to the GPU or allocates memory on it.
Failure before_work(int device);
Failure before_work(cudaStream_t stream);

/// Returns the failure of a call that the environment makes fail.
Failure injected(cudaError_t error);

/// Calls that must not occur in a step.
enum class Counted {
    reserving,     ///< allocate or free memory and runtime objects
    waiting,       ///< block until work is done
    communicators  ///< start a communicator of NCCL
};

void count(Counted call);
/// Returns the number of calls of this process so far.
std::int64_t num_calls(Counted call);

/// Counts a launch of the kernel at `address`, or a call of the library's function there.
void count_launch(const void* address);
/// Returns the launches of this process so far, by name_of_kernel.
std::map<std::string, std::int64_t> launches_by_kernel();

}  // namespace emulated_cuda
