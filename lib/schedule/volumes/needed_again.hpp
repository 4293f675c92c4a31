/// NeededAgain: what recomputation of whole layers computes a second time.
#pragma once

#include <map>
#include <vector>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Of one decoder layer and every micro-batch.
struct NeededAgain {
    std::vector<bool> values;  ///< by value: backward reads it, or what is computed again does
    std::vector<bool> phases;  ///< by phase: computed again
};

/// By unit, the layers of this rank that take part in backward; none without recompute.kind full.
///
/// From what backward of a run of recompute.every layers reads to what that is computed from, up to the input
/// of the run: where tensors are frozen, or the last sum of a run leads only to its output, not all of it.
std::map<int, NeededAgain> needed_again(const spec::RunSpec& spec, const ModelLayout& model);

/// By unit, the layers of this rank that take part in backward: what recompute.kind full or selective
/// computes again of each. Of the latter the phases that are marked for it.
std::map<int, NeededAgain> computed_again(const spec::RunSpec& spec, const ModelLayout& model);

/// Values of a unit that its backward reads: inputs of products whose weights are trained, and what other
/// phases keep.
std::vector<bool> read_by_backward(const ModelLayout& model, int unit);

}  // namespace ziggurat::schedule
