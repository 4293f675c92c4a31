/// Pinned (page-locked) host memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ziggurat::device::cuda {

/// Page-locks these pages for copies of GPUs, until cudaHostUnregister.
///
/// Errors: Error{resource} if the system refuses
void pin(std::byte* begin, std::int64_t bytes);

}  // namespace ziggurat::device::cuda
