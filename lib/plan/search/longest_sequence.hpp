/// The longest sequences with which a run fits its layout.
#pragma once

#include <cstdint>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct LongestSequence {
    std::int64_t tokens = 0;  ///< largest data.seq that is known to fit; 0: none
    /// Reason why longer ones were not tried: the model's learned positions, or the limit of a micro-batch.
    bool is_bound_by_positions = false, is_bound_by_tokens = false;
};

/// Returns the maximum length of sequences for which the budgets of all tiers suffice.
///
/// The layout, the micro-batch and the homes stay. Lengths are multiples of 128 that the context and tensor
/// ranks can divide; the result is within 1/64 of the maximum. Models with rotary positions get the
/// positions that they need.
LongestSequence longest_sequence(spec::RunSpec run, const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
