/// Thread blocks that the communicators of a rank may hold at once, and whether a GPU has room for them.
#pragma once

#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// One communicator of NCCL.
struct CommunicatorBlocks {
    std::string name;  ///< of its group; with "send" or "receive" of one for messages
    int blocks = 0;

    bool operator==(const CommunicatorBlocks&) const = default;
};

/// Communicators of a rank that runs `program`, with the limits that the program sets; empty where nothing
/// goes by NCCL. Those of training and of validation are never busy together.
std::vector<CommunicatorBlocks> communicator_blocks(const spec::RunSpec& spec,
                                                    const schedule::Program& program);

/// Sum of the blocks.
int blocks_of_all(const std::vector<CommunicatorBlocks>& communicators);

/// Multiprocessors of a GPU that are assumed if the machine's are not known: those of an H100.
int multiprocessors_of(const spec::MachineSpec& machine);

/// Why the communicators of a rank do not fit on a GPU of `machine` together, and what to do; empty if they
/// fit. Kernels wait for their peers: if some of them cannot start, ranks wait for each other for ever.
std::string thread_blocks_problem(const std::vector<CommunicatorBlocks>& communicators,
                                  const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
