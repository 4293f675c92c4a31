/// Activations that a program saves from forward for backward.
#pragma once

#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// A buffer that forward fills and backward reads.
struct Kept {
    BufferId buffer = -1;
    /// The last op of forward, other than a receive, that writes the buffer.
    ///
    /// Receives do not count, because they are posted early. If only a receive writes the buffer, this is the
    /// first op that reads the received value.
    OpId produced = -1;
    OpId last_forward = -1;
    OpId first_backward = -1;
};

/// Returns the saved buffers, in the order of their last use in forward within each micro-batch.
std::vector<Kept> saved_for_backward(const Program& program);

}  // namespace ziggurat::schedule
