/// Errors of the CUDA runtime, as people get them.
#pragma once

#include <cuda_runtime.h>

#include <source_location>

namespace ziggurat::device::cuda {

/// Passes over success.
///
/// \param doing  what was tried, to be read behind "cannot": "reserve memory of GPU 0"
/// Errors: Error{resource} when memory or the GPU is lacking; Error{internal} when work that was given to the
///         GPU, here or before, is at fault
void check(cudaError_t result,
           const char* doing,
           std::source_location where = std::source_location::current());

}  // namespace ziggurat::device::cuda
