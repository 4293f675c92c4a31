/// Norms of gradient, weights and update of each unit, from the sums that the ops of a step leave.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Norms of the trained parameters of one unit over all ranks.
///
/// NaN if a sum is not finite.
struct UnitNorms {
    std::string unit;     ///< its name: embedding, layer.03, head
    double gradient = 0;  ///< before clipping
    double weights = 0;   ///< fp32 master weights after the update
    double update = 0;    ///< change of the master weights by the update; 0 if it was skipped
};

/// Norms of a unit with the names that outputs have.
struct NamedNorm {
    std::string_view name;
    double UnitNorms::*norm;
};
inline constexpr std::array<NamedNorm, 3> norm_kinds{{
    {"gradient", &UnitNorms::gradient},
    {"weights", &UnitNorms::weights},
    {"update", &UnitNorms::update},
}};

/// Returns the norms of the units that are trained, in the order of the model.
///
/// \param program  of training, with trainer_buffers.update_sums
/// \pre the step had StepInputs::sums_norms, all of its ops are done, and the next step has not begun
/// Numerics:   sums are exact; an element that several ranks hold counts once
/// Collective: over `world`
std::vector<UnitNorms> unit_norms(const comm::Context& world,
                                  const schedule::ModelLayout& model,
                                  const schedule::Program& program,
                                  const state::TierMemory& memory);

}  // namespace ziggurat::train
