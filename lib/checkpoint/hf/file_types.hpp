/// Types of numbers in safetensors files, as far as weights are read from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "spec/dtype.hpp"

namespace ziggurat::checkpoint::hf {

/// `F32`, `BF16`
const char* name_of(spec::DType type) noexcept;

bool is_read(std::string_view type) noexcept;
/// `F32, BF16 and F16`
std::string types_that_are_read();

/// Bytes of one number. \pre is_read(type)
std::int64_t bytes_of(std::string_view type);

/// Copies `elements` values of `from`, of a type that is read, which may lie at any address.
/// Numerics: to f32 exactly; to bf16 rounded to nearest even
void convert_stored(std::string_view from_type,
                    const std::byte* from,
                    std::byte* to,
                    spec::DType to_type,
                    std::int64_t elements);

/// The value of IEEE half precision `bits`, exactly.
float float_of_half(std::uint16_t bits) noexcept;

}  // namespace ziggurat::checkpoint::hf
