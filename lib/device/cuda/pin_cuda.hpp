/// Pinned memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ziggurat::device::cuda {

/// Has the system keep these pages where copies of GPUs find them, until cudaHostUnregister.
///
/// Errors: Error{resource} when the system refuses
void pin(std::byte* begin, std::int64_t bytes);

}  // namespace ziggurat::device::cuda
