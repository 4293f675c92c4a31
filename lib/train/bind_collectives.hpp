/// Collective ops of a step program as calls of `comm`.
#pragma once

#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/executor.hpp"

namespace ziggurat::train {

/// The collectives of each group of a program.
class GroupCollectives {
  public:
    /// Makes a communicator for every group of `program`.
    ///
    /// Collective: over `world`; every rank has the program of the same spec
    GroupCollectives(const comm::Communicator& world,
                     const schedule::Program& program,
                     const spec::RunSpec& spec);

    /// The calls of `op`, one for each of its operands, reserved and ready to be started together.
    ///
    /// Collective: over the op's group; groups bind their ops in program order on all members
    Action bind(const schedule::Program& program, const schedule::Op& op, const state::TierMemory& memory);

    /// Bytes that this rank has handed to others, all groups together.
    std::int64_t bytes_sent() const;

  private:
    comm::CollectiveCall call_of(const schedule::Program& program,
                                 const schedule::Op& op,
                                 std::size_t part,
                                 int members,
                                 const state::TierMemory& memory) const;

    std::vector<std::unique_ptr<comm::Collectives>> groups_;
    std::vector<int> sum_groups_;  ///< by group: members summed together before the runs are
};

bool is_collective(schedule::OpKind kind);

}  // namespace ziggurat::train
