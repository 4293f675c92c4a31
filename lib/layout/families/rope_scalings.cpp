#include "layout/families/rope_scalings.hpp"

#include <algorithm>
#include <initializer_list>

#include "layout/families/family_descriptor.hpp"

namespace ziggurat::layout {

const char* name_of(spec::RopeScalingKind kind) {
    switch (kind) {
        case spec::RopeScalingKind::none:
            return "none";
        case spec::RopeScalingKind::linear:
            return "linear";
        case spec::RopeScalingKind::by_parts:
            for (const auto* family : families()) {
                if (family->scaling_by_parts != nullptr) {
                    return family->scaling_by_parts;
                }
            }
            break;
        case spec::RopeScalingKind::yarn:
            return "yarn";
        case spec::RopeScalingKind::longrope:
            return "longrope";
        case spec::RopeScalingKind::dynamic:
            return "dynamic";
    }
    return "";
}

std::optional<spec::RopeScalingKind> find_rope_scaling(std::string_view name) {
    const auto found =
        std::ranges::find_if(rope_scaling_kinds, [&](auto kind) { return name_of(kind) == name; });
    return found == rope_scaling_kinds.end() ? std::nullopt : std::optional{*found};
}

bool uses_key(spec::RopeScalingKind kind, std::string_view key) {
    using enum spec::RopeScalingKind;
    const auto is = [&](std::initializer_list<spec::RopeScalingKind> kinds) {
        return std::ranges::find(kinds, kind) != kinds.end();
    };
    if (key == "kind") {
        return true;
    }
    if (key == "factor") {
        return kind != none;
    }
    if (key == "low_freq_factor" || key == "high_freq_factor") {
        return kind == by_parts;
    }
    if (key == "original_max_seq") {
        return is({by_parts, yarn, longrope});
    }
    if (key == "attention_factor") {
        return is({yarn, longrope});
    }
    if (key == "short_factors" || key == "long_factors") {
        return kind == longrope;
    }
    return kind == yarn;  // beta_fast, beta_slow, truncate
}

}  // namespace ziggurat::layout
