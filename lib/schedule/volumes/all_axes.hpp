/// Bytes that a rank sends in a step over all axes together, in closed form.
#pragma once

#include <map>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Returns the bytes by purpose.
///
/// Purposes are parameters, secondary, gradients, publication, tensor, context and pipeline. The bytes are
/// the sum of volumes_by_formula in bytes, this rank's share of tile_volumes_of_axis,
/// gradient_sum_bytes_by_formula, tensor_bytes_by_formula, split_bytes_by_formula,
/// context_bytes_by_formula and pipeline_bytes_by_formula. Programs round down for each collective. For tiles
/// and for unequal parts, the result is the average over the ranks of the axis.
std::map<Purpose, double> bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
