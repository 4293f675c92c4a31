#include "comm/watch/abort_handler.hpp"

#include <csignal>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/units.hpp"

namespace ziggurat::comm {
namespace {

constexpr int exit_code_of_loss = static_cast<int>(ErrorKind::communication);

using ErrorSink = ProcessAbort::ErrorSink;

/// Formats ` (killed by SIGKILL).` and the remedy.
std::string death_reason(std::optional<int> signal, bool was_memory_short) {
    const bool is_known_other = signal && *signal != SIGKILL;
    if (!is_known_other && was_memory_short) {
        const auto group = memory_group();
        return " (killed by the system: the memory limit of its control group '" + group.folder + "', " +
               format_bytes(group.granted_bytes) +
               ", was reached). Raise that limit, or reduce tiers.host.budget and tiers.device.budget.";
    }
    if (!signal) {
        return " (killed, or out of memory?). Check the system log (dmesg), and start the job again.";
    }
    const char* name = ::sigabbrev_np(*signal);
    return " (killed by signal " + std::to_string(*signal) +
           (name == nullptr ? "" : std::string{", SIG"} + name) + "). " +
           (*signal == SIGKILL
                ? "Find out what sent it, or if the node ran out of memory (dmesg), and start "
                  "the job again."
                : "This is a bug in the program or in a library: start the job again, and report it.");
}

ErrorSink kept_if(bool is_first) {
    return is_first ? ErrorSink::file_too : ErrorSink::stderr_only;
}

}  // namespace

std::optional<AbortReason> AbortHandler::verdict_of_others() const {
    auto verdict = list_.board.verdict();
    return verdict && verdict->author != static_cast<int>(list_.me) ? verdict : std::nullopt;
}

bool AbortHandler::claim(int index, int exit_code, const std::string& reason) const {
    return list_.board.claim_verdict({static_cast<int>(list_.me), index, exit_code, reason});
}

void AbortHandler::broadcast_abort(int exit_code, const std::string& text, bool is_failure) const {
    if (list_.link) {
        list_.link->tell({.exit_code = exit_code, .is_failure = is_failure, .text = text});
    }
}

void AbortHandler::dead_peer(std::size_t peer, std::optional<int> signal) {
    const RankReport report = list_.report_of(peer, monotonic_ns());
    std::string text = name_of_rank(report.rank, report.pid) + " on " + list_.host + " has died";
    if (const auto work = describe_work(report); !work.empty()) {
        text += " after it " + work;
    }
    text += death_reason(signal, kills_.has_killed());
    const bool is_first = claim(static_cast<int>(peer), exit_code_of_loss, text);
    if (is_first) {
        broadcast_abort(exit_code_of_loss, text, false);
    }
    const auto verdict = is_first ? std::nullopt : verdict_of_others();
    if (verdict && verdict->culprit != static_cast<int>(peer)) {
        // Launchers kill the other ranks after a first loss, which may be the cause of this death.
        verdict_of_another(*verdict);
    }
    departure_.leave_after_others(exit_code_of_loss, "error: " + list_.own_work() + ": " + text,
                                  kept_if(is_first));
}

void AbortHandler::killed_by_launcher(std::size_t peer, const std::string& launcher) {
    const Peer& killed = list_.peers[peer];
    departure_.abort_process(exit_code_of_loss, "note: " + list_.own_work() + ": exits because " + launcher +
                                                    ", which was asked to end the job, has killed " +
                                                    name_of_rank(killed.rank, killed.pid) + ".");
}

void AbortHandler::failed_peer(std::size_t peer) {
    if (const auto verdict = verdict_of_others()) {
        verdict_of_another(*verdict);
    }
    const Peer& failed = list_.peers[peer];
    const int exit_code = list_.line(peer).exit_code;
    departure_.leave_after_others(exit_code, "note: " + list_.own_work() + ": exits because " +
                                                 name_of_rank(failed.rank, failed.pid) + " on " + list_.host +
                                                 " has failed with exit code " + std::to_string(exit_code) +
                                                 ". See its error message.");
}

void AbortHandler::verdict_of_another(const AbortReason& verdict) {
    if (verdict.culprit == static_cast<int>(list_.me)) {
        departure_.leave_after_others(
            verdict.exit_code,
            "error: " + list_.own_name() + ": aborted by the other ranks (" + verdict.reason + ")");
    }
    if (verdict.culprit != verdict.author) {
        departure_.leave_after_others(verdict.exit_code,
                                      "error: " + list_.own_work() + ": " + verdict.reason);
    }
    const Peer& author = list_.peers[verdict.author];
    departure_.leave_after_others(verdict.exit_code, "note: " + list_.own_work() + ": exits because " +
                                                         name_of_rank(author.rank, author.pid) + " on " +
                                                         list_.host + " has failed with exit code " +
                                                         std::to_string(verdict.exit_code) + ": " +
                                                         verdict.reason);
}

void AbortHandler::hang(const HangDiagnosis& verdict) {
    const int exit_code = static_cast<int>(verdict.kind);
    const bool is_first = claim(list_.index_of(verdict.culprit), exit_code, verdict.text);
    if (is_first && verdict.culprit >= 0) {
        broadcast_abort(exit_code, "on " + list_.host + ", " + verdict.text, false);
    }
    departure_.abort_process(exit_code, "error: " + list_.own_work() + ": " + verdict.text,
                             kept_if(is_first));
}

void AbortHandler::remote_abort(const RemoteAbort& far) {
    const bool is_first = claim(-1, far.exit_code, far.text);
    if (const auto verdict = is_first ? std::nullopt : verdict_of_others()) {
        verdict_of_another(*verdict);
    }
    if (far.is_failure) {
        departure_.leave_after_others(far.exit_code,
                                      "note: " + list_.own_work() + ": exits because " + far.text);
    }
    departure_.leave_after_others(far.exit_code, "error: " + list_.own_work() + ": " + far.text,
                                  kept_if(is_first));
}

void AbortHandler::lost_launcher() {
    const std::string text = "the launcher (pid " + std::to_string(*list_.launcher) +
                             ") has ended, so no process can end this job. Start the job again.";
    const bool is_first = claim(-1, exit_code_of_loss, text);
    if (is_first) {
        broadcast_abort(exit_code_of_loss, "on " + list_.host + ", " + text, false);
    }
    departure_.abort_process(exit_code_of_loss, "error: " + list_.own_work() + ": " + text,
                             kept_if(is_first));
}

bool AbortHandler::claim_failure(int exit_code, const std::string& message) {
    const bool is_first = claim(static_cast<int>(list_.me), exit_code, message);
    if (is_first) {
        const Peer& self = list_.peers[list_.me];
        broadcast_abort(exit_code,
                        name_of_rank(self.rank, self.pid) + " on " + list_.host +
                            " has failed with exit code " + std::to_string(exit_code) + ": " + message,
                        true);
    }
    return is_first;
}

void AbortHandler::own_failure(int exit_code, const std::string& message, bool is_first) {
    const auto verdict = is_first ? std::nullopt : verdict_of_others();
    if (verdict && message.starts_with(verdict->reason)) {
        const Peer& author = list_.peers[verdict->author];
        departure_.abort_process(exit_code, "note: " + list_.own_name() + ": the same error as on rank " +
                                                std::to_string(author.rank));
    }
    departure_.abort_process(exit_code, "error: " + list_.own_name() + ": " + message, ErrorSink::file_too);
}

}  // namespace ziggurat::comm
