/// Ranks that add the bias of a phase.
#pragma once

#include "schedule/model_layout.hpp"

namespace ziggurat::schedule {

/// True if the rank adds the bias of a phase: if the output is a sum over ranks, one of them.
inline bool adds_bias(const ModelLayout& model, UnitId unit, const layout::Phase& phase) {
    if (model.tensor() == 1 || phase.writes.empty() || !layout::is_sum(phase.writes.front().wanted)) {
        return true;
    }
    const auto& output = model.table.units[unit].values[phase.writes.front().value];
    return model.mesh.coordinate(model.token_axis(output), model.rank) == 0;
}

}  // namespace ziggurat::schedule
