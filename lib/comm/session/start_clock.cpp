#include "comm/session/start_clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/quiet_thread.hpp"
#include "comm/watch/hang_watch.hpp"
#include "comm/watch/launched_ranks.hpp"
#include "comm/watch/process_abort.hpp"
#include "comm/watch/process_state.hpp"
#include "comm/watch/watchdog.hpp"

namespace ziggurat::comm {
namespace {

constexpr double report_seconds = 30;
/// Starts that take less time are not checked: they cost nothing.
constexpr double quick_start_seconds = 0.5;
constexpr auto pause_of_rank = std::chrono::milliseconds{50};
constexpr int max_pauses = 20;

/// Returns the rank of this process according to its launcher; nullopt if that is unknown.
std::optional<int> launched_rank() {
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        if (const char* text = std::getenv(variable)) {
            return std::atoi(text);
        }
    }
    return std::nullopt;
}

/// Returns the name of this process in messages. MPI cannot be asked yet.
std::string own_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto rank = launched_rank();
    return (rank ? "rank " + std::to_string(*rank) : "pid " + std::to_string(::getpid())) + " (" +
           host.data() + ")";
}

/// Ends the process. Ranks do so one after another, so that usually only the first one prints.
[[noreturn]] void end_process(const std::string& problem) {
    std::this_thread::sleep_for(std::min(launched_rank().value_or(0), max_pauses) * pause_of_rank);
    print_on_stderr("error: " + own_name() + ": " + problem);
    ::_exit(static_cast<int>(ErrorKind::communication));
}

bool is_launcher_stopped() {
    const auto launcher = find_launcher();
    const auto state = launcher ? process_state(*launcher) : std::nullopt;
    return state && state->is_stopped();
}

}  // namespace

StartClock::StartClock(double timeout_seconds)
    : timeout_seconds_{timeout_seconds},
      tick_ns_{HangWatch::tick_ns(timeout_seconds)},
      begin_ns_{monotonic_ns()},
      looked_ns_{begin_ns_},
      thread_{start_quiet_thread("the thread that monitors the start", [this] { run(); })} {}

StartClock::~StartClock() {
    {
        const std::lock_guard lock{ending_};
        is_over_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

bool StartClock::wait() {
    std::unique_lock lock{ending_};
    return !ended_.wait_for(lock, std::chrono::nanoseconds{tick_ns_}, [this] { return is_over_; });
}

void StartClock::run() {
    while (wait()) {
        poll_once(monotonic_ns());
    }
}

void StartClock::poll_once(std::int64_t now_ns) {
    const bool was_suspended = now_ns - looked_ns_ > HangWatch::longest_pause_ns(timeout_seconds_);
    looked_ns_ = now_ns;
    if (seconds_between(begin_ns_, now_ns) < quick_start_seconds) {
        return;
    }
    if (was_suspended || is_launcher_stopped()) {
        begin_ns_ = now_ns;
        stopped_ns_ = 0;
        return;
    }
    const auto stopped = find_stopped_rank();
    stopped_ns_ = !stopped ? 0 : stopped_ns_ == 0 ? now_ns : stopped_ns_;
    if (stopped && seconds_between(stopped_ns_, now_ns) >= HangWatch::diagnosed_share * timeout_seconds_) {
        end_process("MPI has not come up (" + *stopped +
                    "). Resume it ('kill -CONT'), or start the job again; run.hang_timeout is the limit.");
    }
    const auto seconds = seconds_between(begin_ns_, now_ns);
    if (seconds >= std::max(timeout_seconds_, report_seconds)) {
        end_process(
            "MPI has not come up within " + seconds_text(seconds) +
            " (a rank, its node or the launcher hangs). Check the launcher's messages and the nodes.");
    }
    if (seconds >= report_seconds && !has_reported_ && launched_rank().value_or(0) <= 1) {
        print_on_stderr("warning: " + own_name() + ": MPI has not come up after " + seconds_text(seconds) +
                        " (a rank, its node or the launcher hangs, or the start is slow). Still waiting.");
        has_reported_ = true;
    }
}

}  // namespace ziggurat::comm
