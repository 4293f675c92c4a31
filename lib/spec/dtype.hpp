/// Element types of state and values.
#pragma once

namespace ziggurat::spec {

/// IEEE single precision and bfloat16.
enum class DType { f32, bf16 };

/// Returns the bytes of one element.
constexpr int element_bytes(DType type) noexcept {
    return type == DType::f32 ? 4 : 2;
}

}  // namespace ziggurat::spec
