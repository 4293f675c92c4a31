/// Aligned scratch within a workspace that begins anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Returns the first `bytes` aligned bytes of `workspace`. \pre it is large enough
inline VectorAddress<std::byte> aligned_part(VectorAddress<std::byte> workspace,
                                             std::int64_t bytes,
                                             std::int64_t alignment) {
    const auto multiple = static_cast<std::uintptr_t>(alignment);
    return workspace.part(static_cast<std::int64_t>(-workspace.number() % multiple), bytes);
}

}  // namespace ziggurat::kernels
