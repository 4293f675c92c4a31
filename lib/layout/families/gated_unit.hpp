/// Gated linear units before products.
#pragma once

#include <optional>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// True for SwiGLU and GEGLU.
inline bool is_gated_unit(PhaseKind kind) {
    return kind == PhaseKind::swiglu || kind == PhaseKind::geglu;
}

/// Returns the kind of the gated unit whose output the product `phase` reads; empty if it reads another
/// value.
inline std::optional<PhaseKind> gated_unit_before(const Unit& unit, int phase) {
    if (phase == 0) {
        return std::nullopt;
    }
    const auto kind = unit.phases[phase - 1].kind;
    return is_gated_unit(kind) ? std::optional{kind} : std::nullopt;
}

}  // namespace ziggurat::layout
