/// Thread blocks that the communicators of a rank can occupy at once, and a check that a GPU has room.
#pragma once

#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// One communicator of NCCL.
struct CommunicatorBlocks {
    std::string name;  ///< of its group; with "send" or "receive" for messages
    int blocks = 0;

    bool operator==(const CommunicatorBlocks&) const = default;
};

/// Returns the communicators of a rank that runs `program`, with the limits that the program sets.
///
/// Empty if no transfer uses NCCL. Communicators of training and of validation are never busy together.
std::vector<CommunicatorBlocks> communicator_blocks(const spec::RunSpec& spec,
                                                    const schedule::Program& program);

/// Returns the sum of the blocks.
int blocks_of_all(const std::vector<CommunicatorBlocks>& communicators);

/// Returns the multiprocessors of a GPU; those of an H100 if the machine file does not give them.
int multiprocessors_of(const spec::MachineSpec& machine);

/// Returns why the communicators of a rank do not fit on a GPU of `machine` together, and the remedy.
///
/// Empty if they fit. Kernels wait for their peers: if some of them cannot start, the ranks deadlock.
std::string thread_blocks_problem(const std::vector<CommunicatorBlocks>& communicators,
                                  const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
