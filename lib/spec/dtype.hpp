#pragma once

namespace ziggurat::spec {

enum class DType { f32, bf16 };

/// Bytes of one number.
constexpr int element_bytes(DType type) noexcept {
    return type == DType::f32 ? 4 : 2;
}

}  // namespace ziggurat::spec
