/// Durations of the ops of a program on a machine, each as if it ran alone.
#pragma once

#include <vector>

#include "plan/cost/rates.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the seconds of each op.
///
/// Collectives and messages count from the time at which all their ranks have begun. An op without a unit is
/// counted by its FLOP or by the bytes that it writes.
/// An op with a predicate takes no time, unless Rates::redoes_updates is set.
///
/// \param spec   the run whose program this is, with the mesh of all ranks
/// \param model  layout of the program's rank
std::vector<double> op_seconds(const schedule::Program& program,
                               const spec::RunSpec& spec,
                               const schedule::ModelLayout& model,
                               const Rates& rates);

/// Returns the same for a program without a model, by FLOP and bytes alone.
std::vector<double> op_seconds(const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
