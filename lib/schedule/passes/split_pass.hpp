/// Activations that all tensor ranks would keep alike are kept in parts.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Where recompute.split says so: of each activation that all ranks of the tensor axis have alike and keep
/// for backward, a rank keeps one part in as many as there are ranks, from the last op of forward on that
/// reads the whole; the parts are gathered in front of what reads it in backward. A part is what leaves for
/// tiers.home.activations, so this runs before activation_pass. What backward wants before another unit has
/// passed stays whole, and so does what has too few elements for a part on each rank.
///
/// It moves bytes and computes nothing, so the step has the same bits.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 6.1 (P_a).
void split_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

/// Whether a kept activation is cut, and the parts of it, one for each tensor rank; none where it is not.
std::vector<ByteRun> parts_on_tensor_ranks(const Buffer& buffer, int tensor);

}  // namespace ziggurat::schedule
