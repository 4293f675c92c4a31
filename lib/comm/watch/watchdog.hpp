/// Diagnosis of the ranks of a node when none makes progress: which of them is the cause.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "comm/watch/process_state.hpp"

namespace ziggurat::comm {

/// Known state, wait and activity of one rank of this node.
struct RankReport {
    int rank = 0;
    pid_t pid = 0;
    std::optional<ProcessState> state = {};  ///< nullopt: the process does not exist
    bool is_waiting = false;                 ///< waits for other ranks, according to the board
    bool device_busy = false;  ///< its device or compute thread does `what`, according to the board
    double seconds = 0;        ///< duration of the wait or of `what`
    std::string what = {};     ///< object of the wait, or activity; empty: unknown
    bool has_moved = true;     ///< has recently used CPU time or accessed files
};

/// Diagnosis by a rank that has waited too long.
struct HangDiagnosis {
    bool leaves = false;  ///< the rank aborts; else it prints a warning and continues to wait
    int culprit = -1;     ///< a rank; -1: unknown
    std::string text = {};
    ErrorKind kind = ErrorKind::communication;  ///< kind of error if the rank aborts
};

/// Determines the culprit: the rank that does not wait.
///
/// A stopped rank comes first, because it may itself have been waiting. A rank under a debugger or one that
/// computes is only reported: it will arrive. A rank that waits for its own device diagnoses itself, because
/// that device does not depend on other ranks.
///
/// \param reports       of all ranks of this node
/// \param me            index of the rank that diagnoses
/// \param num_remote number of ranks on other nodes, whose state is unknown here
/// \param silent        human-readable list of ranks on other nodes that do not answer; may be empty
/// \param rounds        number of diagnoses of this wait so far that only warned; a busy rank is the culprit
///                      after `max_rounds`
HangDiagnosis diagnose_hang(std::span<const RankReport> reports,
                            std::size_t me,
                            int num_remote,
                            int rounds,
                            const std::string& silent = {});

/// Multiple of the timeout that a busy rank may take.
inline constexpr int max_rounds = 10;

/// Formats `rank 2 (pid 15730)`.
std::string name_of_rank(int rank, pid_t pid);

/// Formats `waited 2.1 s for 'x'` or `was 2.1 s into 'x'`; empty if unknown.
std::string describe_work(const RankReport& report);

/// Formats a short duration for messages: `12 s`, `2.5 s`, `30 ms`.
std::string seconds_text(double seconds);

}  // namespace ziggurat::comm
