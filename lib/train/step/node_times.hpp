/// Times of ops on all ranks of a node, and the matching of those that meet in one collective.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/context.hpp"
#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"
#include "schedule/step_program.hpp"
#include "train/step/collective_match.hpp"
#include "train/step/op_times.hpp"

namespace ziggurat::train {

/// One rank of the node.
struct RankTimes {
    int world_rank = 0;
    OpTimes times;
    std::vector<schedule::Engine> engines;  ///< by op: see engines_of
};

/// All ranks of one node on one clock. Only the rank itself where ranks cannot read each other's memory.
struct NodeTimes {
    std::vector<RankTimes> ranks;
    int me = 0;  ///< index into ranks
    CollectiveMatch collectives;
    std::unique_ptr<device::Arena> own_memory = nullptr;  ///< of a rank that is alone

    OpTimes& own() noexcept { return ranks[static_cast<std::size_t>(me)].times; }
};

/// By op: of its lane; that of the step's end for copies of what that is made of, and of what controls steps
/// otherwise. Pure
std::vector<schedule::Engine> engines_of(const schedule::Program& program);

/// The times of one rank without others.
NodeTimes times_of_one(const schedule::Program& program);

/// \param node  outlives what is made
/// Collective: over `world`
NodeTimes share_times(const comm::Context& world, comm::NodeMemory& node, const schedule::Program& program);

}  // namespace ziggurat::train
