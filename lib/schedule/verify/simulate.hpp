/// Simulation of the programs of all ranks together, without data.
///
/// Lanes are in-order queues. An op starts when the ops that it waits for have ended. A collective ends after
/// all members have started it; a send ends after its receive has started. The next lane to run is chosen at
/// random, to detect orders that hold only usually. Memory contains names of values (simulate_contents.hpp).
/// Reads of unwritten or overwritten bytes, of a parameter of another step, or of an incomplete sum are
/// findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/expected_results.hpp"

namespace ziggurat::schedule {

enum class FindingKind {
    malformed,            ///< an op that is not valid
    deadlock,             ///< no lane can continue
    collective_mismatch,  ///< members of a group are in different calls
    unmatched_message,    ///< a send without a receive
    unwritten_read,       ///< a read of bytes that no op has written
    overwritten_read,     ///< a read of bytes that have been overwritten or are being written
    stale_read,           ///< a read of another micro-batch's or another step's value
    wrong_sum,            ///< members add values that do not belong together
    wrong_gradient,       ///< an update whose gradient lacks, repeats or reorders a summand
    wrong_state,          ///< a shard that is not updated exactly once, or holders that differ
    race,                 ///< two ops touch the same bytes and neither waits for the other
    memory,               ///< outside of the arena or above the budget
    lease,                ///< gathered and not used, or not released
};

const char* to_string(FindingKind kind);

/// Defect of a program, with a description.
struct Finding {
    FindingKind kind = FindingKind::malformed;
    int rank = -1;
    OpId op = -1;  ///< index in that rank's program
    std::string text;
};

struct SimulationOptions {
    int steps = 3;           ///< several, to cover dependencies between steps
    std::uint64_t seed = 1;  ///< odd seeds let some lanes run far ahead of others
    int buffered_sends = 0;  ///< messages between two ranks that sends may buffer; 0: rendezvous
    int max_findings = 8;
};

struct SimulationResult {
    std::vector<Finding> findings;
    std::int64_t ops_run = 0;
    /// Hash of all parameters after the last step; equal for programs with equal bits. 0 if not computed.
    std::uint64_t fingerprint = 0;

    bool ok() const noexcept { return findings.empty(); }
    /// Returns one line per finding.
    std::string report() const;
};

/// Runs the programs of all ranks.
///
/// \param programs  by world rank
/// \param truth     expected results; nullptr: checks only order, matching and memory
SimulationResult simulate(const std::vector<Program>& programs,
                          const ExpectedResults* truth,
                          const SimulationOptions& options = {});

}  // namespace ziggurat::schedule
