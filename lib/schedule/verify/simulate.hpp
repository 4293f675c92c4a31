/// Runs the programs of all ranks against each other, without bytes.
///
/// Lanes are in-order queues; an op starts when the ops that it waits for have ended, collectives end when
/// all members have started theirs, a send when its receive has. Which lane moves next is drawn at random, so
/// that an order which only usually holds is found out. Memory holds names of values (simulate_contents.hpp):
/// reading what nobody has written, what was overwritten, a parameter of another step or an incomplete sum is
/// a finding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/simulate_truth.hpp"

namespace ziggurat::schedule {

enum class FindingKind {
    malformed,            ///< an op that cannot mean anything
    deadlock,             ///< nothing moves any more
    collective_mismatch,  ///< members of a group are in different calls
    unmatched_message,    ///< a send that nobody receives
    unwritten_read,       ///< of bytes that nobody has written
    overwritten_read,     ///< of bytes that hold something else by now, or are being written
    stale_read,           ///< of another micro-batch's or another step's value
    wrong_sum,            ///< members add up values that do not belong together
    wrong_gradient,       ///< an update whose gradient lacks a summand, has one twice or in another order
    wrong_state,          ///< a shard that is not updated exactly once, or holders that differ
    race,                 ///< two ops touch the same bytes and none waits for the other
    memory,               ///< outside of the arena or above the budget
    lease,                ///< gathered and not used, or not released
};

const char* to_string(FindingKind kind);

/// Something wrong, in words.
struct Finding {
    FindingKind kind = FindingKind::malformed;
    int rank = -1;
    int op = -1;  ///< of that rank's program
    std::string text;
};

struct SimulationOptions {
    int steps = 3;           ///< so that what wraps around from step to step is seen
    std::uint64_t seed = 1;  ///< odd seeds let some lanes run far ahead of others
    int buffered_sends = 0;  ///< messages between two ranks that a send may leave behind; 0: rendezvous
    int most_findings = 8;
};

struct SimulationResult {
    std::vector<Finding> findings;
    std::int64_t ops_run = 0;
    /// Of all parameters after the last step; equal for programs that give the same bits. 0 without a truth.
    std::uint64_t fingerprint = 0;

    bool ok() const noexcept { return findings.empty(); }
    /// One line per finding.
    std::string report() const;
};

/// \param programs  that of world rank r at place r
/// \param truth     what the programs should come to; null: only order, matching and memory are looked at
SimulationResult simulate(const std::vector<Program>& programs,
                          const SimulationTruth* truth,
                          const SimulationOptions& options = {});

}  // namespace ziggurat::schedule
