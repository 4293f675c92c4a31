/// Bytes that a rank sends in a step over all axes together, by formula.
#pragma once

#include <map>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// For parameters, secondary, gradients, publication, tensor and pipeline: volumes_by_formula in bytes, this
/// rank's share of tile_volumes_of_axis, gradient_sum_bytes_by_formula, tensor_bytes_by_formula,
/// split_bytes_by_formula and pipeline_bytes_by_formula. Programs round down for each collective, and what
/// ranks send of tiles and of parts that are not equal is this on average over their axis.
///
/// \pre the context axis has one rank
std::map<Purpose, double> bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
