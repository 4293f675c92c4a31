/// Simulation of the lanes of one or several ranks over some steps.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/cost/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// A rank of the simulation.
struct SimulatedRank {
    const schedule::Program* program = nullptr;  ///< with dependencies
    std::vector<double> seconds;                 ///< by op: op_seconds
};

/// An op of a step of a simulated rank, by index in the list of ranks.
struct OpInstance {
    int rank = -1;
    int step = 0;
    int op = -1;

    bool operator==(const OpInstance&) const = default;
};

/// Times of an op in a step, in seconds from the begin of the first step.
struct SimulatedOp {
    double begin = 0;
    double end = 0;
    /// The op that it waited for last; none for the begin of the step.
    ///
    /// It is one before it in its lane, one of its waits, one that used the same processor or disk, or one of
    /// another rank of its collective.
    OpInstance after;
};

/// Result of a simulation.
struct SimulatedSteps {
    double step_seconds = 0;  ///< of a step in the steady state
    // The first step in the steady state; ops of other lanes may end after it.
    int step = 0;
    double begin = 0;                                          ///< on the first rank
    std::vector<std::vector<std::vector<SimulatedOp>>> times;  ///< by step, rank and op

    const SimulatedOp& of(const OpInstance& at) const { return times.at(at.step).at(at.rank).at(at.op); }
};

/// Simulates some steps, until their time is that of later steps.
///
/// Each lane runs its ops in order, when the ops that they wait for have ended; reads and writes overlap as
/// schedule::overlaps_itself says. Without a device, one processor runs compute, updates and sums of a rank.
/// Collectives and messages begin when all simulated ranks that take part are ready; other ranks are always
/// ready. The next step of a rank begins when its compute ops and its step end are done.
///
/// \pre programs are of different ranks of one run, and their lanes do not deadlock
SimulatedSteps simulate_steps(const std::vector<SimulatedRank>& ranks, const Rates& rates);

}  // namespace ziggurat::plan
