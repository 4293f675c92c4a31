/// Partitioned storage of activations that are replicated over tensor ranks.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// With recompute.split, partitions saved activations that are replicated over the tensor axis.
///
/// After the last op of forward that reads the whole activation, each tensor rank keeps only its own part.
/// The parts are gathered before the first op of backward that reads the activation. tiers.home.activations
/// applies to the parts, so this pass runs before activation_pass. An activation stays whole if backward
/// needs it before another unit pass, or if it has too few elements for one part per rank.
///
/// The pass only moves bytes, so the step has the same bits.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 6.1 (P_a).
void split_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

/// Returns the parts of a saved activation, one for each tensor rank; empty if it is not divided.
std::vector<ByteRange> parts_on_tensor_ranks(const Buffer& buffer, int tensor);

}  // namespace ziggurat::schedule
