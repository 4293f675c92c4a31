/// Conversion of values between element types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spec/dtype.hpp"

namespace ziggurat::checkpoint {

/// Converts `elements` values; source and destination need no alignment.
///
/// Numerics: bf16 to f32 exactly; f32 to bf16 rounded to nearest even
void convert(const std::byte* from,
             spec::DType from_type,
             std::byte* to,
             spec::DType to_type,
             std::int64_t elements) noexcept;

}  // namespace ziggurat::checkpoint
