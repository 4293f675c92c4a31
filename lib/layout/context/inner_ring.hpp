/// Choice between one ring and rings in two levels for ring attention.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Returns the number of consecutive context ranks that form an inner ring.
///
/// If the ranks of each context group lie on several nodes, the same number above 1 on each, that number:
/// blocks then circulate within nodes and pass between nodes once per turn. Otherwise, all context ranks.
/// Nodes have consecutive ranks, see nodes_in_a_row.
int inner_ring(const spec::RunSpec& run);

/// Returns the sizes of both levels as text.
///
/// Such as `; ring attention in rings of 4 within and 2 between nodes`. Empty if there is one ring, or none.
std::string describe_rings(const spec::RunSpec& run);

}  // namespace ziggurat::layout
