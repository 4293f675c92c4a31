/// Activations that forward leaves for backward, as a program's ops tell it.
#pragma once

#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// A buffer that forward fills and backward reads.
struct Kept {
    int buffer = -1;
    /// The last op of forward that writes it and is no receive, for that is issued before its time; where a
    /// receive alone fills it, the first op that reads what has come.
    int produced = -1;
    int last_forward = -1;
    int first_backward = -1;
};

/// In the order in which forward is done with them; those of one micro-batch count together.
std::vector<Kept> kept_for_backward(const Program& program);

}  // namespace ziggurat::schedule
