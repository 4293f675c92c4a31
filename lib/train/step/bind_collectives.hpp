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
#include "train/step/action.hpp"

namespace ziggurat::train {

/// The collectives of each group of a program.
class GroupCollectives {
  public:
    /// Makes a communicator for every group of `program`; members of a group know it by one name.
    ///
    /// \param node    has mapped the arenas that the program's collectives touch; outlives this
    /// \param memory  these arenas; outlives this
    /// Collective: over the members of each group; every rank of `world` has its program of the same spec
    GroupCollectives(const comm::Context& world,
                     comm::NodeMemory& node,
                     const schedule::Program& program,
                     const spec::RunSpec& spec,
                     const state::TierMemory& memory,
                     device::Device& device);
    /// In the order in which they were made: members of some wait for each other.
    ~GroupCollectives();
    GroupCollectives(const GroupCollectives&) = delete;
    GroupCollectives& operator=(const GroupCollectives&) = delete;

    /// The calls of `op`, one for each of its operands, reserved and ready to be started together.
    ///
    /// Collective: over the op's group; groups bind their ops in program order on all members
    Action bind(const schedule::Program& program, const schedule::Op& op, const state::TierMemory& memory);

    /// Bytes that the calls of one op have moved since they were bound, counted where this rank copied them
    /// (comm::Collectives::bytes_moved); 0 for other ops.
    std::int64_t bytes_moved(int op) const;

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
    std::vector<std::size_t> groups_in_order_;  ///< one order for all ranks
    std::vector<BoundOp> ops_;                  ///< by op of the program
    std::vector<int> sum_groups_;               ///< by group: members summed together before the runs are
};

}  // namespace ziggurat::train
