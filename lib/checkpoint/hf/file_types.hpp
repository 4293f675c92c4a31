/// Element types of safetensors files that can be read as weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "spec/dtype.hpp"

namespace ziggurat::checkpoint::hf {

/// Returns `F32` or `BF16`.
const char* name_of(spec::DType type) noexcept;

bool is_read(std::string_view type) noexcept;
/// Returns `F32, BF16 and F16`.
std::string types_that_are_read();

/// Returns the bytes of one element. \pre is_read(type)
std::int64_t bytes_of(std::string_view type);

/// Converts `elements` values of a readable type; source and destination need no alignment.
/// Numerics: to f32 exactly; to bf16 rounded to nearest even
void convert_stored(std::string_view from_type,
                    const std::byte* from,
                    std::byte* to,
                    spec::DType to_type,
                    std::int64_t elements);

/// Returns the exact value of IEEE half precision `bits`.
float float_of_half(std::uint16_t bits) noexcept;

}  // namespace ziggurat::checkpoint::hf
