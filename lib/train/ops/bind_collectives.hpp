/// Collective ops of a step program as calls of `comm`.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/context.hpp"
#include "comm/node/node_memory.hpp"
#include "device/device.hpp"
#include "device/stream.hpp"
#include "schedule/group_key.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// The collectives of the groups of a rank.
///
/// Programs that have the same group share them: NCCL reserves hundreds of MiB for each communicator. So
/// only one program may have calls in progress.
class RankGroups {
  public:
    /// Creates the collectives of every group of `programs`.
    ///
    /// All members of a group use the same name for it.
    ///
    /// \param node    has mapped the arenas that collectives access; outlives this object
    /// \param memory  these arenas; outlives this object
    /// Collective: over the members of each group; every rank of `world` has its programs of the same spec
    RankGroups(const comm::Context& world,
               comm::NodeMemory& node,
               std::span<const schedule::Program* const> programs,
               const spec::RunSpec& spec,
               const state::TierMemory& memory,
               device::Device& device);
    /// Destroys the collectives in the order of their creation: members may wait for each other.
    ~RankGroups();
    RankGroups(const RankGroups&) = delete;
    RankGroups& operator=(const RankGroups&) = delete;

    comm::Collectives& of(const schedule::Group& group) const;

  private:
    /// In the order of creation, which all ranks share. So no two members of a group wait for different
    /// groups.
    std::map<schedule::GroupKey, std::unique_ptr<comm::Collectives>> by_key_;
};

/// The collectives of each group of a program.
class GroupCollectives {
  public:
    /// \param groups  of this rank; outlives this object
    GroupCollectives(const RankGroups& groups, const schedule::Program& program, const spec::RunSpec& spec);

    /// Prepares the calls of `op`, one for each of its operands; the action starts them together.
    ///
    /// The action is synchronous if all calls run on the stream of the group, see with_streams().
    ///
    /// Collective: over the op's group; groups bind their ops in program order on all members
    Action bind(const schedule::Program& program, const schedule::Op& op, const state::TierMemory& memory);

    /// Returns `streams` with the groups' own streams for the lanes whose bound calls run on them.
    ///
    /// All messages of a channel have one peer and one direction, and therefore one stream.
    ///
    /// \param streams  by lane
    std::vector<device::Stream> with_streams(const schedule::Program& program,
                                             std::vector<device::Stream> streams) const;

    /// Returns the bytes that the calls of one op have moved since they were bound; 0 for other ops.
    ///
    /// They are counted when this rank copies them (comm::Collectives::bytes_moved).
    std::int64_t bytes_moved(schedule::OpId op) const;

  private:
    comm::CollectiveCall call_of(const schedule::Program& program,
                                 const schedule::Op& op,
                                 std::size_t part,
                                 int members,
                                 const state::TierMemory& memory) const;

    struct BoundOp {
        comm::Collectives* group = nullptr;
        std::vector<int> calls;
    };

    std::vector<comm::Collectives*> groups_;
    std::vector<BoundOp> ops_;     ///< by op of the program
    std::vector<int> sum_groups_;  ///< by group: size of the ranges of members summed first
};

}  // namespace ziggurat::train
