/// Values and phases that recomputation of whole layers computes again.
#pragma once

#include <map>
#include <vector>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Recomputation of one decoder layer, the same for every micro-batch.
struct RecomputeInputs {
    std::vector<bool> values;  ///< by value: true if backward or a recomputed phase reads it
    std::vector<bool> phases;  ///< by phase: true if it is recomputed
};

/// Returns, by unit, the recomputation of the layers of this rank that take part in backward.
///
/// The result is empty without recompute.kind full. It contains what backward of a range of recompute.every
/// layers reads, and recursively the inputs of these values, up to the input of the range. This is not the
/// whole range if tensors are frozen, or if the last sum of a range leads only to its output.
std::map<UnitId, RecomputeInputs> recompute_inputs(const spec::RunSpec& spec, const ModelLayout& model);

/// Returns, by unit, what recompute.kind full or selective recomputes of the layers in backward.
///
/// For selective, these are the phases that are marked for it.
std::map<UnitId, RecomputeInputs> computed_again(const spec::RunSpec& spec, const ModelLayout& model);

/// Returns, by value of a unit, true if its backward reads the value.
///
/// These are inputs of products with trained weights, and values that other phases save.
std::vector<bool> read_by_backward(const ModelLayout& model, UnitId unit);

}  // namespace ziggurat::schedule
