#include "checkpoint/hf/file_types.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/contract.hpp"
#include "checkpoint/convert.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

constexpr std::string_view half_name = "F16";

}  // namespace

const char* name_of(spec::DType type) noexcept {
    switch (type) {
        case spec::DType::f32:
            return "F32";
        case spec::DType::bf16:
            return "BF16";
    }
    return "";
}

bool is_read(std::string_view type) noexcept {
    return type == name_of(spec::DType::f32) || type == name_of(spec::DType::bf16) || type == half_name;
}

std::string types_that_are_read() {
    return "F32, BF16 and F16";
}

std::int64_t bytes_of(std::string_view type) {
    ZG_EXPECTS(is_read(type));
    return type == name_of(spec::DType::f32) ? 4 : 2;
}

void convert_stored(std::string_view from_type,
                    const std::byte* from,
                    std::byte* to,
                    spec::DType to_type,
                    std::int64_t elements) {
    ZG_EXPECTS(is_read(from_type));
    if (from_type != half_name) {
        const auto type = from_type == name_of(spec::DType::f32) ? spec::DType::f32 : spec::DType::bf16;
        convert(from, type, to, to_type, elements);
        return;
    }
    for (std::int64_t k = 0; k < elements; ++k) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + k * 2, sizeof bits);
        const float value = float_of_half(bits);
        if (to_type == spec::DType::f32) {
            std::memcpy(to + k * 4, &value, sizeof value);
        } else {
            const tensor::bfloat16 rounded{value};
            std::memcpy(to + k * 2, &rounded, sizeof rounded);
        }
    }
}

float float_of_half(std::uint16_t bits) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero or subnormal: fraction 2^-24
        const float size = std::ldexp(static_cast<float>(fraction), -24);
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
    }
    const std::uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + 112;  // 127 - 15
    return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

}  // namespace ziggurat::checkpoint::hf
