/// Gated linear units before products.
#pragma once

#include <optional>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// Returns the kind of the gated unit whose output the product `phase` reads; empty if it reads another
/// value.
inline std::optional<PhaseKind> gated_unit_before(const Unit& unit, int phase) {
    if (phase == 0) {
        return std::nullopt;
    }
    const auto kind = unit.phases[phase - 1].kind;
    const bool is_unit = kind == PhaseKind::swiglu || kind == PhaseKind::geglu;
    return is_unit ? std::optional{kind} : std::nullopt;
}

}  // namespace ziggurat::layout
