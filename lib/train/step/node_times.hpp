/// Times of ops on all ranks of a node, and the matching of the ops of one collective.
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

/// Times of one rank of the node.
struct RankTimes {
    int world_rank = 0;
    OpTimes times;
    std::vector<schedule::Engine> engines;  ///< by op; see engines_of
};

/// Times of all ranks of one node on one clock.
///
/// If ranks cannot read each other's memory, it contains only this rank.
struct NodeTimes {
    std::vector<RankTimes> ranks;
    int me = 0;  ///< index into ranks
    CollectiveMatch collectives;
    std::unique_ptr<device::Arena> own_memory = nullptr;  ///< used if it contains only this rank

    OpTimes& own() noexcept { return ranks[me].times; }
};

/// Returns by op the engine of its lane; for copies of control values, Engine::step_end. Pure
std::vector<schedule::Engine> engines_of(const schedule::Program& program);

/// Returns the times of one rank without other ranks.
NodeTimes times_of_one(const schedule::Program& program);

/// Creates the times of all ranks of the node in shared memory.
///
/// \param node  must outlive the result
/// Collective: over `world`
NodeTimes share_times(const comm::Context& world, comm::NodeMemory& node, const schedule::Program& program);

}  // namespace ziggurat::train
