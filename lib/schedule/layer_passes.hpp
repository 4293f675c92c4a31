/// Passes of decoder layers, as a rank computes them.
#pragma once

#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The forward of one decoder layer over one micro-batch, or its backward with what is computed again for it.
struct LayerPass {
    int first = -1;  ///< op
    int last = -1;   ///< op; that which leaves what the next layer needs, or the same one
    bool is_forward = true;

    bool operator==(const LayerPass&) const = default;
};

/// In order of the list. Ops of other kinds may stand between those of a pass.
std::vector<LayerPass> layer_passes(const Program& program);

}  // namespace ziggurat::schedule
