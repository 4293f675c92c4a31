/// Collective ops of a step program as calls of `comm`.
#pragma once

#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/context.hpp"
#include "comm/node/node_memory.hpp"
#include "device/device.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// The collectives of each group of a program.
class GroupCollectives {
  public:
    /// Creates a communicator for every group of `program`.
    ///
    /// All members of a group use the same name for it.
    ///
    /// \param node    has mapped the arenas that the program's collectives access; outlives this object
    /// \param memory  these arenas; outlives this object
    /// Collective: over the members of each group; every rank of `world` has its program of the same spec
    GroupCollectives(const comm::Context& world,
                     comm::NodeMemory& node,
                     const schedule::Program& program,
                     const spec::RunSpec& spec,
                     const state::TierMemory& memory,
                     device::Device& device);
    /// Destroys the communicators in the order of their creation: members may wait for each other.
    ~GroupCollectives();
    GroupCollectives(const GroupCollectives&) = delete;
    GroupCollectives& operator=(const GroupCollectives&) = delete;

    /// Prepares the calls of `op`, one for each of its operands; the action starts them together.
    ///
    /// Collective: over the op's group; groups bind their ops in program order on all members
    Action bind(const schedule::Program& program, const schedule::Op& op, const state::TierMemory& memory);

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
        const comm::Collectives* group = nullptr;
        std::vector<int> calls;
    };

    std::vector<std::unique_ptr<comm::Collectives>> groups_;
    std::vector<std::size_t> groups_in_order_;  ///< in the order of creation, which all ranks share
    std::vector<BoundOp> ops_;                  ///< by op of the program
    std::vector<int> sum_groups_;               ///< by group: size of the ranges of members summed first
};

}  // namespace ziggurat::train
