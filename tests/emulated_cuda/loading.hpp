/// Lazy loading of kernels, as an error if it could deadlock with NCCL.
///
/// A kernel is loaded when it is queried or launched first, which waits until the GPU is idle. If
/// operations of NCCL run on the GPU and wait for other ranks, that may take forever. Here it is an error,
/// also if no operation is in flight.
#pragma once

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// Loads `key`: the address of a kernel, or a number that a library assigned to its own kernel.
///
/// \param name  returns the name for the failure
Failure load(const void* key, std::string (*name)(const void* key));

/// Sets if operations of NCCL may run on the GPUs of this process from now on.
void set_collectives(bool may_run);

}  // namespace emulated_cuda
