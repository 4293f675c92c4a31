/// is_attention: the ops that passes for context ranks replace.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

inline bool is_attention(const Op& op, const ModelLayout& model) {
    return op.kind == OpKind::compute && op.unit >= 0 && op.phase >= 0 &&
           model.table.units[op.unit].phases[op.phase].kind == layout::PhaseKind::attention;
}

}  // namespace ziggurat::schedule
