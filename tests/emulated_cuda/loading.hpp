/// Lazy loading: kernels are loaded when they are asked about or launched first, which waits until the GPU is
/// idle. With operations of NCCL on the GPU, which wait for other ranks, that may be for ever: here it is an
/// error, whether one is in flight or not.
#pragma once

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// Loads what `key` stands for: the address of a kernel, or a number that a library gives its own.
///
/// \param name  called for the failure
Failure load(const void* key, std::string (*name)(const void* key));

/// Operations of NCCL may be on the GPUs of this process from now on, or no longer.
void set_collectives(bool may_run);

}  // namespace emulated_cuda
