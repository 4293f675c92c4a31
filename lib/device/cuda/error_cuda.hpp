/// Conversion of errors of the CUDA runtime to Error.
#pragma once

#include <cuda_runtime.h>

#include <source_location>

namespace ziggurat::device::cuda {

/// Throws unless `result` is success.
///
/// \param doing  the failed action, which follows "cannot" in the message: "reserve memory of GPU 0"
/// Errors: Error{resource} if memory or the GPU is missing; Error{internal} if work on the GPU has failed, of
///         this call or an earlier one
void check(cudaError_t result,
           const char* doing,
           std::source_location where = std::source_location::current());

}  // namespace ziggurat::device::cuda
