/// Time of collectives and messages: latency, bytes, and the links that they use.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/cost/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Distribution of the members of a group over nodes.
struct GroupShape {
    int members = 1;
    int nodes = 1;
    int min_on_node = 1;  ///< members on the node with fewest of them

    bool operator==(const GroupShape&) const = default;
};

/// Returns the distribution of a group's members. Ranks of a node have consecutive numbers.
GroupShape group_shape(const schedule::Group& group, int ranks_per_node);

/// Returns the distribution of each group of a program. A group can have all ranks of the run.
std::vector<GroupShape> group_shapes(const schedule::Program& program, int ranks_per_node);

/// Returns the bytes of the vector that all members of a collective have together, or of a message.
std::int64_t vector_bytes(const schedule::Op& op);

/// Returns the seconds of a collective from the time at which all members have begun.
///
/// Rings within nodes and between nodes work at the same time. In each, a member sends bytes x (n - 1) / n
/// per pass. The members of a node share the traffic to other nodes. Latency is the minimum of that of a ring
/// and that of a tree.
///
/// Source: Thakur et al., "Optimization of Collective Communication Operations in MPICH", 2005, section 4;
/// for rings over several links per node: Cho et al., "BlueConnect", 2019, section 3.
double collective_seconds(schedule::OpKind kind,
                          std::int64_t bytes,
                          const GroupShape& shape,
                          const Rates& rates);

/// Returns the seconds of a message, from the time at which both ranks have begun.
double message_seconds(std::int64_t bytes, bool is_within_node, const Rates& rates);

}  // namespace ziggurat::plan
