/// What calls of the runtime ask before they do anything.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// The GPU of the calling thread.
int current_device();

/// What a call on a GPU returns before it does anything.
Failure before_call(int device);
/// The same for a call that gives the GPU work, or takes memory of it.
Failure before_work(int device);
Failure before_work(cudaStream_t stream);

/// Of a call that was asked to fail.
Failure injected(cudaError_t error);

/// Calls that no step may make: those that reserve or give back memory and objects of the runtime, and those
/// that return only when work is done.
enum class Counted { reserving, waiting };

void count(Counted call);
/// Of this process so far.
std::int64_t num_calls(Counted call);

/// Counts a launch of the kernel at `address`, or a call of the library's function there.
void count_launch(const void* address);
/// Launches of this process so far, by name_of_kernel.
std::map<std::string, std::int64_t> launches_by_kernel();

}  // namespace emulated_cuda
