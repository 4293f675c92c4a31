/// Activations that a program saves from forward for backward.
#pragma once

#include <map>
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
///
/// Slots of values in flight are not among them (no_flush_pass).
std::vector<Kept> saved_for_backward(const Program& program);

/// True if a run has saved activations whose home is not the device.
bool are_any_away(const spec::RunSpec& spec);

/// Returns the home of each kept buffer.
///
/// Shares are divided by bytes within each micro-batch, among buffers without a fate.
std::map<int, spec::Tier> homes_of(const Program& program,
                                   const std::vector<Kept>& kept,
                                   const spec::Home& home);

}  // namespace ziggurat::schedule
