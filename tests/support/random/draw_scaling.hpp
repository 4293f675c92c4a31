/// Random scaling of rotary positions, as the value of model.rope_scaling.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "layout/families/family_descriptor.hpp"
#include "layout/families/rope_scalings.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {

/// Draws a kind that the family has, with its keys; `none` in most cases.
///
/// \param pairs  number of pairs of rotated channels of a head
inline std::string draw_scaling(Draw& draw,
                                const layout::FamilyDescriptor& family,
                                std::int64_t pairs,
                                std::int64_t seq) {
    const auto kinds = layout::rope_scaling_kinds;
    const auto kind = kinds[static_cast<std::size_t>(draw.between(0, std::ssize(kinds) - 1))];
    if (kind == spec::RopeScalingKind::none || !family.scales_by(kind) || draw.chance(0.3)) {
        return "none";
    }
    std::string text = fmt::format("{{kind: {}, factor: {}", layout::name_of(kind), draw.between(1, 8));
    if (layout::uses_key(kind, "original_max_seq")) {
        text += fmt::format(", original_max_seq: {}", draw.between(2, 2 * seq));
    }
    for (const char* key : {"short_factors", "long_factors"}) {
        if (layout::uses_key(kind, key)) {
            std::string numbers;
            for (std::int64_t pair = 0; pair < pairs; ++pair) {
                numbers += fmt::format("{}{}", pair == 0 ? "" : ", ", draw.one_of<double>({1, 1.25, 3, 8}));
            }
            text += fmt::format(", {}: [{}]", key, numbers);
        }
    }
    return text + "}";
}

}  // namespace ziggurat::test
