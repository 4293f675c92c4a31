/// Verdict over the ranks of a machine when nothing moves: which of them is to blame.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "comm/watch/process_state.hpp"

namespace ziggurat::comm {

/// State, wait and work of one rank of this machine, as far as they are known.
struct RankReport {
    int rank = 0;
    pid_t pid = 0;
    std::optional<ProcessState> state = {};  ///< nothing: there is no such process any more
    bool is_waiting = false;                 ///< for others, as it says itself
    bool works_beside = false;               ///< its device or a thread beside does `what`, as it says
    double seconds = 0;                      ///< that it has been waiting, or busy with `what`
    std::string what = {};                   ///< that it waits for or does; empty: not known
    bool has_moved = true;                   ///< has used processors or files lately
};

/// Verdict of a rank that has waited too long.
struct HangVerdict {
    bool leaves = false;  ///< else it only warns, and waits on
    int culprit = -1;     ///< a rank; -1: none is known
    std::string text = {};
    ErrorKind kind = ErrorKind::communication;  ///< of one that leaves
};

/// The culprit is the rank that does not wait. One that is stopped comes first, for it may have been waiting
/// itself. One under a debugger and one that computes are only reported: they will come. A rank that waits
/// for its own device judges itself: whatever the others do, that device does not wait for them.
///
/// \param reports       of all ranks of this machine
/// \param me            index of the rank that judges
/// \param num_elsewhere ranks on other machines, of which nothing is known here
/// \param silent        ranks elsewhere that were asked and do not answer, for people; empty: none
/// \param rounds        judgements of this wait so far that reported only; a rank that computes is given up
///                      after `most_rounds`
HangVerdict judge_hang(std::span<const RankReport> reports,
                       std::size_t me,
                       int num_elsewhere,
                       int rounds,
                       const std::string& silent = {});

/// A rank that computes may take this many times the patience of those that wait for it.
inline constexpr int most_rounds = 10;

/// `rank 2 (pid 15730)`.
std::string name_of_rank(int rank, pid_t pid);

/// `waited 2.1 s for 'x'` or `was 2.1 s into 'x'`; empty when it is not known.
std::string describe_work(const RankReport& report);

/// `12 s`, `2.5 s`, `30 ms`: short, for messages.
std::string seconds_text(double seconds);

}  // namespace ziggurat::comm
