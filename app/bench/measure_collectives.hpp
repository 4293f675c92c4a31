/// Measurement of collectives and messages between ranks over a range of sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/bench/bench_ranks.hpp"
#include "plan/calibrate/link_fit.hpp"
#include "schedule/op_kind.hpp"

namespace ziggurat::app {

/// A collective, or a message in one direction (OpKind::send), and its time on the slowest rank.
struct TimedCall {
    schedule::OpKind kind = schedule::OpKind::all_reduce;
    std::int64_t bytes = 0;  ///< of the vector that all members have together
    plan::LinkSample sample;
};

/// Ranks that communicate with each other in a measurement, while the other groups do the same.
enum class LinkGroups {
    of_node,     ///< all ranks of a node
    over_nodes,  ///< one rank of each node
};

/// Measures gathers, sums and messages from 1 KiB to 64 MiB with the transport of a run.
///
/// \pre the groups have at least two ranks; for over_nodes, all nodes have equal numbers of ranks
/// Collective: over the ranks
std::vector<TimedCall> measure_collectives(BenchRanks& ranks, LinkGroups groups, bool is_brief);

/// Returns a table of measured and fitted times.
std::string calls_table(const std::vector<TimedCall>& calls, const spec::LinkRate& fitted);

}  // namespace ziggurat::app
