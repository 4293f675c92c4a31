/// Forward and backward passes of decoder layers on a rank.
#pragma once

#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Forward of one decoder layer over one micro-batch, or its backward with the recomputation for it.
///
/// If weight products are deferred, the gradients of inputs and those of weights are two passes.
struct LayerPass {
    int first = -1;    ///< op
    int last = -1;     ///< the op that writes the input of the next layer; may equal `first`
    int forwards = 1;  ///< time of the pass by convention, as a multiple of that of forward: 2 for backward

    bool operator==(const LayerPass&) const = default;
};

/// Returns the passes in the order of the list. Ops of other kinds may lie between the ops of a pass.
std::vector<LayerPass> layer_passes(const Program& program);

}  // namespace ziggurat::schedule
