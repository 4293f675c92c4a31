#include "comm/liveness.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace ziggurat::comm {
namespace {

constexpr int exit_code_of_loss = static_cast<int>(ErrorKind::communication);
/// Looks at a wait so many times within the patience, so that a stopped rank is named before it is over.
constexpr int looks_per_patience = 20;
constexpr std::int64_t longest_tick_ns = 1'000'000'000;
/// Where ends of processes cannot be waited for, their states are read this often.
constexpr std::int64_t polling_tick_ns = 100'000'000;
/// A rank that waited this share of the patience is judged: the rest is for the looks between.
constexpr double judged_share = 0.8;
/// From this share of it on, processor times of the others are compared: a short wait reads nothing.
constexpr double noted_share = 0.3;
/// A rank that used less of the time than this does not compute.
constexpr double least_cpu_share = 0.01;
/// How long the text of a verdict may take to appear after its author has claimed it.
constexpr int verdict_tries = 100;
constexpr auto verdict_pause = std::chrono::milliseconds{1};
/// Launchers report the exit code of the process that they see end first: it should be the one to blame.
constexpr auto courtesy_pause = std::chrono::milliseconds{100};
/// How long a failed exchange may be older than the death that explains it.
constexpr int loss_tries = 30;
constexpr auto loss_pause = std::chrono::milliseconds{10};

/// One write, so that lines of several ranks do not mix; a reader that has gone is no reason to stay.
void say(const std::string& line) {
    const std::string whole = "ziggurat: " + line + "\n";
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, whole.data(), whole.size());
}

/// Signals are the main thread's: its waits must be the ones that are interrupted.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace

Liveness::Liveness(WatchList list)
    : list_{std::move(list)}, wake_{::eventfd(0, EFD_CLOEXEC)}, ticks_before_(list_.peers.size(), 0) {
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        if (p != list_.me) {
            watched_.push_back({.peer = p, .descriptor = watch_process(list_.peers[p].pid)});
        }
    }
    if (list_.launcher) {
        launcher_ = watch_process(*list_.launcher);
    }
    if (watched_.empty() && !launcher_) {
        return;
    }
    const SignalsBlocked during_start;  // the new thread inherits it
    try {
        thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error& error) {
        throw Error{ErrorKind::resource,
                    std::string{"cannot start the thread that watches the other ranks ("} + error.what() +
                        "). Raise the limit of processes (ulimit -u)."};
    }
}

Liveness::~Liveness() {
    my_line().stage.store(Stage::finished);
    stops_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(wake_.get(), &one, sizeof one);
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Liveness::does(std::string_view what, std::int64_t since_ns) noexcept {
    auto& activity = my_line().activity;
    activity.is_waiting.store(0, std::memory_order_relaxed);
    activity.since_ns.store(since_ns, std::memory_order_relaxed);
    activity.what.store(what);
    is_waiting_ = false;
}

void Liveness::waits_for(std::string_view what) noexcept {
    if (is_waiting_) {
        return;
    }
    auto& activity = my_line().activity;
    activity.what.store(what);
    activity.since_ns.store(monotonic_ns(), std::memory_order_relaxed);
    activity.is_waiting.store(1, std::memory_order_release);
    is_waiting_ = true;
}

void Liveness::moves() noexcept {
    if (is_waiting_) {
        my_line().activity.is_waiting.store(0, std::memory_order_relaxed);
        my_line().activity.what.store("looking for its next op");
        is_waiting_ = false;
    }
}

void Liveness::takes_leave() noexcept {
    does("the end of the job", monotonic_ns());
    if (!list_.is_shared) {
        stops_ = true;  // whoever ends now may well have finished: nothing here tells
    }
}

void Liveness::look() {
    const std::lock_guard lock{looking_};
    if (stops_) {
        return;
    }
    if (launcher_ && is_ended(launcher_)) {
        leave_without_launcher();
    }
    // Who died without a word is the reason; who failed or gave up may only follow from it.
    const Watched* failed = nullptr;
    for (auto& watched : watched_) {
        if (watched.is_gone || !is_dead(watched)) {
            continue;
        }
        switch (stage_of(watched)) {
            case Stage::finished:
                watched.is_gone = true;
                break;
            case Stage::failed:
                failed = &watched;
                break;
            case Stage::running:
                leave_for_dead(watched);
        }
    }
    if (failed != nullptr) {
        leave_for_failed(*failed);
    }
}

bool Liveness::is_ended(const FileDescriptor& process) {
    pollfd asked{process.get(), POLLIN, 0};
    return ::poll(&asked, 1, 0) > 0;
}

bool Liveness::is_dead(const Watched& watched) const {
    if (watched.descriptor) {
        return is_ended(watched.descriptor);
    }
    const Peer& peer = list_.peers[watched.peer];
    const auto state = process_state(peer.pid);
    return !state || state->is_dead() || state->started_at != peer.started_at;
}

Stage Liveness::stage_of(const Watched& watched) const {
    return list_.is_shared ? list_.board.line(static_cast<int>(watched.peer)).stage.load() : Stage::running;
}

void Liveness::run() {
    pthread_setname_np(pthread_self(), "zg-watch");
    std::vector<pollfd> asked;
    while (!stops_) {
        asked.clear();
        asked.push_back({wake_.get(), POLLIN, 0});
        if (launcher_) {
            asked.push_back({launcher_.get(), POLLIN, 0});
        }
        bool must_poll = false;
        for (const auto& watched : watched_) {
            if (!watched.is_gone && watched.descriptor) {
                asked.push_back({watched.descriptor.get(), POLLIN, 0});
            }
            must_poll = must_poll || (!watched.is_gone && !watched.descriptor);
        }
        const double share_ns = patience_seconds_ * 1e9 / looks_per_patience;
        const std::int64_t tick_ns = std::min({longest_tick_ns, static_cast<std::int64_t>(share_ns),
                                               must_poll ? polling_tick_ns : longest_tick_ns});
        if (::poll(asked.data(), asked.size(), static_cast<int>(tick_ns / 1'000'000)) != 0 || must_poll) {
            look();
        }
        check_patience(tick_ns);
    }
}

RankReport Liveness::report_of(std::size_t peer, std::int64_t now_ns) const {
    const Peer& who = list_.peers[peer];
    RankReport report{.rank = who.rank, .pid = who.pid, .state = process_state(who.pid)};
    if (list_.is_shared || peer == list_.me) {
        const auto& activity = list_.board.line(static_cast<int>(peer)).activity;
        report.is_waiting = activity.is_waiting.load(std::memory_order_acquire) != 0;
        report.seconds = std::max(0.0, seconds_between(activity.since_ns.load(), now_ns));
        report.what = activity.what.load();
    }
    return report;
}

void Liveness::check_patience(std::int64_t tick_ns) {
    const std::int64_t now = monotonic_ns();
    // This process was stopped itself, perhaps with all others: what it missed does not count.
    if (now - last_tick_ns_ > 3 * tick_ns + longest_tick_ns) {
        patient_since_ns_ = now;
    }
    last_tick_ns_ = now;
    const auto& mine = my_line().activity;
    const bool is_waiting = mine.is_waiting.load(std::memory_order_acquire) != 0;
    const std::int64_t since = mine.since_ns.load();
    if (!is_waiting || since != judged_wait_) {
        judged_wait_ = is_waiting ? since : 0;
        noted_ns_ = 0;
        rounds_ = 0;
    }
    const double waited = seconds_between(std::max(since, patient_since_ns_), now);
    if (!is_waiting || stops_ || waited < noted_share * patience_seconds_) {
        return;
    }
    if (noted_ns_ == 0) {
        note_processor_time();
    }
    if (waited > judged_share * patience_seconds_) {
        judge(now);
    }
}

void Liveness::note_processor_time() {
    for (const auto& watched : watched_) {
        const auto state = process_state(list_.peers[watched.peer].pid);
        ticks_before_[watched.peer] = state ? state->cpu_ticks : 0;
    }
    noted_ns_ = monotonic_ns();
}

void Liveness::judge(std::int64_t now_ns) {
    const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double least_ticks = least_cpu_share * seconds_between(noted_ns_, now_ns) * ticks_per_second;
    std::vector<RankReport> reports;
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        reports.push_back(report_of(p, now_ns));
        if (const auto& state = reports.back().state) {
            reports.back().has_moved = static_cast<double>(state->cpu_ticks - ticks_before_[p]) > least_ticks;
        }
    }
    const int num_elsewhere = list_.world_size - static_cast<int>(list_.peers.size());
    const HangVerdict verdict = judge_hang(reports, list_.me, num_elsewhere, rounds_);
    const std::string line = own_work() + ": " + verdict.text;
    if (verdict.leaves) {
        claim_verdict(exit_code_of_loss, place_of(verdict.culprit), verdict.text);
        const std::lock_guard lock{looking_};
        leave(exit_code_of_loss, "error on " + line);
    }
    say("warning on " + line);
    ++rounds_;
    patient_since_ns_ = now_ns;
    noted_ns_ = 0;
}

int Liveness::place_of(int rank) const {
    const auto at = std::find_if(list_.peers.begin(), list_.peers.end(),
                                 [rank](const Peer& peer) { return peer.rank == rank; });
    return at == list_.peers.end() ? -1 : static_cast<int>(at - list_.peers.begin());
}

std::string Liveness::who_am_i() const {
    return "rank " + std::to_string(list_.peers[list_.me].rank) + " of " + std::to_string(list_.world_size) +
           " (" + list_.host + ")";
}

/// `rank 1 of 4 (host), which waited 2.1 s for 'x'`.
std::string Liveness::own_work() const {
    const std::string work = describe_work(report_of(list_.me, monotonic_ns()));
    return who_am_i() + (work.empty() ? "" : ", which " + work);
}

bool Liveness::claim_verdict(int exit_code, int culprit, const std::string& reason) {
    auto& verdict = list_.board.verdict();
    std::int32_t nobody = 0;
    if (!verdict.author.compare_exchange_strong(nobody, static_cast<std::int32_t>(list_.me) + 1)) {
        return false;
    }
    verdict.culprit = culprit + 1;
    verdict.exit_code = exit_code;
    verdict.reason.store(reason);
    verdict.is_written.store(1, std::memory_order_release);
    return true;
}

std::optional<std::string> Liveness::verdict_of_others() const {
    const auto& verdict = list_.board.verdict();
    if (verdict.author.load() == 0 || verdict.author.load() == static_cast<std::int32_t>(list_.me) + 1) {
        return std::nullopt;
    }
    for (int i = 0; i < verdict_tries; ++i) {
        if (verdict.is_written.load(std::memory_order_acquire) != 0) {
            return verdict.reason.load();
        }
        std::this_thread::sleep_for(verdict_pause);
    }
    return std::nullopt;
}

void Liveness::leave_for_dead(const Watched& dead) {
    RankReport report = report_of(dead.peer, monotonic_ns());
    report.state.reset();
    std::string text = name_of_rank(report.rank, report.pid) + " on " + list_.host + " has died";
    if (const auto work = describe_work(report); !work.empty()) {
        text += ", it " + work;
    }
    text += " (killed, or out of memory?). Look at the system's log, and start the job again.";
    claim_verdict(exit_code_of_loss, static_cast<int>(dead.peer), text);
    leave_after_others(exit_code_of_loss, "error on " + own_work() + ": " + text);
}

void Liveness::leave_for_failed(const Watched& failed) {
    const auto& verdict = list_.board.verdict();
    const auto reason = verdict_of_others();
    const int author = verdict.author.load() - 1;
    const int culprit = verdict.culprit.load() - 1;
    if (reason && culprit == static_cast<int>(list_.me)) {
        leave_after_others(verdict.exit_code, "error on " + who_am_i() +
                                                  ": the others have given this rank up (" + *reason + ")");
    }
    if (reason && culprit != author) {
        leave_after_others(verdict.exit_code, "error on " + own_work() + ": " + *reason);
    }
    // Who failed first is the one to name; others may have left for him before this rank looked.
    const std::size_t first = reason ? static_cast<std::size_t>(author) : failed.peer;
    const Peer& peer = list_.peers[first];
    const int exit_code = list_.board.line(static_cast<int>(failed.peer)).exit_code;
    leave_after_others(exit_code, own_work() + ": leaves, for " + name_of_rank(peer.rank, peer.pid) + " on " +
                                      list_.host + " has failed with exit code " + std::to_string(exit_code) +
                                      (reason ? ": " + *reason : ". Its own message says why."));
}

void Liveness::leave_without_launcher() {
    const std::string text = "the launcher (pid " + std::to_string(*list_.launcher) +
                             ") is gone, and with it who would end this job. Start the job again.";
    claim_verdict(exit_code_of_loss, -1, text);
    leave(exit_code_of_loss, "error on " + own_work() + ": " + text);
}

void Liveness::fail(int exit_code, const std::string& message) {
    // What a library says of a lost peer is less than what is known here a moment later.
    for (int i = 0; exit_code == exit_code_of_loss && i < loss_tries; ++i) {
        look();
        std::this_thread::sleep_for(loss_pause);
    }
    const bool is_first = claim_verdict(exit_code, static_cast<int>(list_.me), message);
    std::unique_lock lock{looking_, std::try_to_lock};
    if (!lock.owns_lock()) {
        std::this_thread::sleep_for(std::chrono::seconds{1});  // the watching thread leaves for both
    }
    const auto reason = is_first ? std::nullopt : verdict_of_others();
    if (reason && message.starts_with(*reason)) {
        const auto author = static_cast<std::size_t>(list_.board.verdict().author.load() - 1);
        leave(exit_code,
              who_am_i() + ": the same error as on rank " + std::to_string(list_.peers[author].rank));
    }
    leave(exit_code, "error on " + who_am_i() + ": " + message);
}

void Liveness::leave_after_others(int exit_code, const std::string& line) {
    begin_to_leave(exit_code, line);
    std::this_thread::sleep_for(courtesy_pause);
    ::_exit(exit_code);
}

void Liveness::leave(int exit_code, const std::string& line) {
    begin_to_leave(exit_code, line);
    ::_exit(exit_code);
}

void Liveness::begin_to_leave(int exit_code, const std::string& line) {
    is_ending_ = true;
    auto& mine = my_line();
    mine.exit_code = exit_code;
    mine.stage = Stage::failed;
    say(line);
}

}  // namespace ziggurat::comm
