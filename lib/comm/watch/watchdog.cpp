#include "comm/watch/watchdog.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace ziggurat::comm {
namespace {

constexpr const char* timeout_advice = "or raise run.hang_timeout";

/// Returns the first report, except mine, for which `is_it` is true; else nullptr.
template <class Predicate>
const RankReport* find_other(std::span<const RankReport> reports, std::size_t me, const Predicate& is_it) {
    for (std::size_t i = 0; i < reports.size(); ++i) {
        if (i != me && is_it(reports[i])) {
            return &reports[i];
        }
    }
    return nullptr;
}

std::string with_state(const RankReport& report) {
    std::string text = name_of_rank(report.rank, report.pid);
    text += ": " + (report.state ? describe(*report.state) : std::string{"gone"});
    if (const auto work = describe_work(report); !work.empty()) {
        text += ", " + work;
    }
    return text;
}

/// Describes a deadlock: the wait of each rank shows the cycle.
std::string describe_deadlock(std::span<const RankReport> reports,
                              std::size_t me,
                              int num_remote,
                              const std::string& silent) {
    std::string text =
        !silent.empty()  ? "no rank on this node is the cause, and " + silent + " does not respond"
        : num_remote > 0 ? "no rank on this node is the cause, and the state of the " +
                               std::to_string(num_remote) + " ranks on other nodes is unknown here"
        : reports.size() == 1 ? "this rank " + describe_work(reports[0]) + ", a transfer of its own"
                              : std::string{"deadlock: every rank waits for another rank or for a transfer"};
    constexpr std::size_t max = 4;
    std::size_t num_reported = 0;
    for (std::size_t i = 0; i < reports.size() && num_reported < max; ++i) {
        if (i != me) {
            text += (num_reported == 0 ? " (" : "; ") + name_of_rank(reports[i].rank, reports[i].pid) + " " +
                    describe_work(reports[i]);
            ++num_reported;
        }
    }
    text += num_reported > 0 ? ")" : "";
    return text +
           (!silent.empty() ? ". Check that node and the network, "
            : num_remote > 0
                ? ". Check the messages of the other nodes, "
                : ". Check the disks if it is a transfer, otherwise report a bug with the deck, ") +
           timeout_advice + ".";
}

/// Diagnoses a wait of this rank for its own device or host thread.
HangDiagnosis check_own_processor(const RankReport& mine, int rounds) {
    const std::string problem = "'" + mine.what +
                                "' has not completed on this rank's own device or in its host-kernel "
                                "thread";
    if (rounds < max_rounds) {
        return {false, mine.rank, problem + ". Still waiting."};
    }
    return {true, mine.rank, problem + ". Check the device, " + timeout_advice + ".", ErrorKind::resource};
}

}  // namespace

std::string name_of_rank(int rank, pid_t pid) {
    return "rank " + std::to_string(rank) + " (pid " + std::to_string(pid) + ")";
}

std::string seconds_text(double seconds) {
    std::array<char, 32> text{};
    if (seconds < 1) {
        std::snprintf(text.data(), text.size(), "%.0f ms", seconds * 1e3);
    } else {
        std::snprintf(text.data(), text.size(), seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    }
    return text.data();
}

std::string describe_work(const RankReport& report) {
    if (report.what.empty()) {
        return {};
    }
    return (report.is_waiting ? "waited " + seconds_text(report.seconds) + " for '"
                              : "was " + seconds_text(report.seconds) + " into '") +
           report.what + "'";
}

HangDiagnosis diagnose_hang(std::span<const RankReport> reports,
                            std::size_t me,
                            int num_remote,
                            int rounds,
                            const std::string& silent) {
    const auto is_stopped = [](const RankReport& r) { return r.state && r.state->is_stopped(); };
    const auto is_traced = [](const RankReport& r) { return r.state && r.state->is_traced(); };
    const auto is_stuck = [](const RankReport& r) { return !r.is_waiting && !r.device_busy && !r.has_moved; };
    const auto is_busy = [](const RankReport& r) { return !r.is_waiting; };

    if (const auto* stopped = find_other(reports, me, is_stopped)) {
        return {true, stopped->rank,
                with_state(*stopped) + ". Resume it ('kill -CONT " + std::to_string(stopped->pid) +
                    "') before the other ranks abort, " + timeout_advice + "."};
    }
    if (reports[me].device_busy) {
        return check_own_processor(reports[me], rounds);
    }
    if (const auto* traced = find_other(reports, me, is_traced)) {
        return {false, traced->rank, with_state(*traced) + ". Still waiting."};
    }
    if (const auto* stuck = find_other(reports, me, is_stuck)) {
        return {true, stuck->rank,
                with_state(*stuck) + ", and uses no CPU time. Attach a debugger (gdb -p " +
                    std::to_string(stuck->pid) + "), " + timeout_advice + "."};
    }
    if (const auto* busy = find_other(reports, me, is_busy)) {
        if (rounds < max_rounds) {
            return {false, busy->rank,
                    with_state(*busy) + ", and computes or accesses files. Still waiting."};
        }
        return {true, busy->rank,
                with_state(*busy) + ", and is busy but does not finish. Attach a debugger (gdb -p " +
                    std::to_string(busy->pid) + "), " + timeout_advice + ".",
                busy->device_busy ? ErrorKind::resource : ErrorKind::communication};
    }
    return {true, -1, describe_deadlock(reports, me, num_remote, silent)};
}

}  // namespace ziggurat::comm
