/// Types of numbers that state and values are kept in.
#pragma once

namespace ziggurat::spec {

/// IEEE single precision and bfloat16.
enum class DType { f32, bf16 };

/// Bytes of one number.
constexpr int element_bytes(DType type) noexcept {
    return type == DType::f32 ? 4 : 2;
}

}  // namespace ziggurat::spec
