#include "comm/watch/liveness.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "comm/watch/error_file.hpp"

namespace ziggurat::comm {
namespace {

constexpr int exit_code_of_loss = static_cast<int>(ErrorKind::communication);
/// Where ends of processes cannot be waited for, their states are read this often.
constexpr std::int64_t polling_tick_ns = 100'000'000;
/// Launchers report the exit code of the process that they see end first: it should be the one to blame.
constexpr auto courtesy_pause = std::chrono::milliseconds{100};
/// What a rank has to say before it leaves takes no longer.
constexpr auto last_words_pause = std::chrono::milliseconds{2000};
/// How long before the death that explains it a call may fail.
constexpr int loss_tries = 30;
constexpr auto loss_pause = std::chrono::milliseconds{10};

bool is_ended(const FileHandle& process) {
    pollfd asked{process.get(), POLLIN, 0};
    return ::poll(&asked, 1, 0) > 0;
}

bool is_process(pid_t pid) {
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

/// One write, so that lines of several ranks do not mix; a reader that has gone is no reason to stay.
void say(const std::string& line) {
    const std::string whole = "ziggurat: " + printable(line, Newlines::kept) + "\n";
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, whole.data(), whole.size());
}

/// Ends the process then, if it has not by itself: files and terminals may take what is said late, or never.
void end_after(std::chrono::milliseconds pause, int exit_code) noexcept {
    try {
        std::thread{[pause, exit_code] {
            std::this_thread::sleep_for(pause);
            ::_exit(exit_code);
        }}.detach();
    } catch (const std::system_error&) {
        // Without another thread, what is said is waited for.
    }
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
    : list_{std::move(list)},
      processes_(list_.peers.size()),
      ended_(list_.peers.size(), false),
      wake_{::eventfd(0, EFD_CLOEXEC)},
      hangs_{list_} {
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        if (p != list_.me) {
            processes_[p] = watch_process(list_.peers[p].pid);
        }
    }
    if (list_.launcher) {
        launcher_ = watch_process(*list_.launcher);
    }
    const SignalsBlocked during_start;  // the new thread inherits it
    try {
        thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error& error) {
        throw Error{ErrorKind::resource, std::string{"cannot start the thread that watches the ranks ("} +
                                             error.what() + "). Raise the limit of processes (ulimit -u)."};
    }
}

Liveness::~Liveness() {
    list_.my_line().stage.store(Stage::finished);
    stops_ = true;
    wake();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Liveness::wake() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(wake_.get(), &one, sizeof one);
}

void Liveness::set_patience(double seconds) noexcept {
    patience_seconds_ = seconds;
    wake();
}

void Liveness::keep_errors_in(const std::string& path) {
    const std::lock_guard lock{naming_};
    error_file_ = path;
}

std::string Liveness::error_file() const {
    const std::lock_guard lock{naming_};
    return error_file_;
}

void Liveness::before_leaving(std::function<void(int, const std::string&)> told) {
    const std::lock_guard lock{naming_};
    told_before_leaving_ = std::move(told);
}

void Liveness::does(std::string_view what, std::int64_t since_ns) noexcept {
    auto& activity = list_.my_line().activity;
    activity.is_waiting.store(0, std::memory_order_relaxed);
    activity.since_ns.store(since_ns, std::memory_order_relaxed);
    activity.what.store(what);
    is_waiting_ = false;
}

void Liveness::waits_for(std::string_view what) noexcept {
    if (is_waiting_) {
        return;
    }
    auto& activity = list_.my_line().activity;
    activity.what.store(what);
    activity.since_ns.store(monotonic_ns(), std::memory_order_relaxed);
    activity.is_waiting.store(1, std::memory_order_release);
    is_waiting_ = true;
}

void Liveness::moves() noexcept {
    if (is_waiting_) {
        list_.my_line().activity.is_waiting.store(0, std::memory_order_relaxed);
        list_.my_line().activity.what.store("looking for its next op");
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
    if (const auto far = list_.link ? list_.link->receive() : std::nullopt) {
        leave_for_far(*far);
    }
    if (launcher_ && is_ended(launcher_)) {
        leave_without_launcher();
    }
    // Who died without a word is the reason; who failed or gave up may only follow from it.
    std::optional<std::size_t> failed;
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        if (p == list_.me || ended_[p] || !is_dead(p)) {
            continue;
        }
        switch (list_.is_shared ? list_.line(p).stage.load() : Stage::running) {
            case Stage::finished:
                ended_[p] = true;
                break;
            case Stage::failed:
                failed = p;
                break;
            case Stage::running:
                leave_for_dead(p);
        }
    }
    if (failed) {
        leave_for_failed(*failed);
    }
}

bool Liveness::is_dead(std::size_t peer) const {
    if (processes_[peer]) {
        return is_ended(processes_[peer]);
    }
    const auto state = process_state(list_.peers[peer].pid);
    if (!state) {
        return !is_process(list_.peers[peer].pid);  // it may be that no more files can be opened here
    }
    return state->is_dead() || state->started_at != list_.peers[peer].started_at;
}

bool Liveness::sleep_until_news() {
    bool must_poll = false;
    {
        const std::lock_guard lock{looking_};
        asked_.clear();  // keeps its memory: a step allocates nothing, nor does this thread beside it
        asked_.push_back({wake_.get(), POLLIN, 0});
        asked_.push_back({launcher_.get(), POLLIN, 0});  // poll() passes over -1
        asked_.push_back({list_.link ? list_.link->descriptor() : -1, POLLIN, 0});
        for (std::size_t p = 0; p < list_.peers.size(); ++p) {
            if (p != list_.me && !ended_[p]) {
                asked_.push_back({processes_[p].get(), POLLIN, 0});
                must_poll = must_poll || !processes_[p];
            }
        }
    }
    const std::int64_t tick_ns = HangWatch::tick_ns(patience_seconds_);
    const std::int64_t most_ns = must_poll ? std::min(tick_ns, polling_tick_ns) : tick_ns;
    const int news = ::poll(asked_.data(), asked_.size(), static_cast<int>(most_ns / 1'000'000));
    if (asked_.front().revents != 0) {
        std::uint64_t drained = 0;
        [[maybe_unused]] const ssize_t ignored = ::read(wake_.get(), &drained, sizeof drained);
    }
    return news != 0 || must_poll;
}

void Liveness::run() {
    pthread_setname_np(pthread_self(), "zg-watch");
    while (!stops_) {
        if (sleep_until_news()) {
            look();
        }
        if (!stops_) {
            judge();
        }
    }
}

void Liveness::judge() {
    const std::lock_guard lock{looking_};
    const auto verdict = hangs_.look(patience_seconds_, ended_);
    if (!verdict) {
        return;
    }
    if (!verdict->leaves) {
        return say("warning: " + list_.own_work() + ": " + verdict->text);
    }
    const bool is_first = list_.board.claim_verdict(
        {static_cast<int>(list_.me), list_.place_of(verdict->culprit), exit_code_of_loss, verdict->text});
    if (is_first && verdict->culprit >= 0) {
        tell_far(exit_code_of_loss, "on " + list_.host + ", " + verdict->text, false);
    }
    leave(exit_code_of_loss, "error: " + list_.own_work() + ": " + verdict->text,
          is_first ? Words::kept : Words::said);
}

std::optional<Verdict> Liveness::verdict_of_others() const {
    auto verdict = list_.board.verdict();
    return verdict && verdict->author != static_cast<int>(list_.me) ? verdict : std::nullopt;
}

void Liveness::leave_for_dead(std::size_t peer) {
    const RankReport report = list_.report_of(peer);
    std::string text = name_of_rank(report.rank, report.pid) + " on " + list_.host + " has died";
    if (const auto work = describe_work(report); !work.empty()) {
        text += ", it " + work;
    }
    text += " (killed, or out of memory?). Look at the system's log, and start the job again.";
    const bool is_first = list_.board.claim_verdict(
        {static_cast<int>(list_.me), static_cast<int>(peer), exit_code_of_loss, text});
    if (is_first) {
        tell_far(exit_code_of_loss, text, false);
    }
    const auto verdict = is_first ? std::nullopt : verdict_of_others();
    if (verdict && verdict->culprit != static_cast<int>(peer)) {
        leave_for(*verdict);  // launchers kill who is left after a first loss: this may be such a death
    }
    leave_after_others(exit_code_of_loss, "error: " + list_.own_work() + ": " + text,
                       is_first ? Words::kept : Words::said);
}

void Liveness::leave_for_failed(std::size_t peer) {
    if (const auto verdict = verdict_of_others()) {
        leave_for(*verdict);
    }
    const Peer& who = list_.peers[peer];
    const int exit_code = list_.line(peer).exit_code;
    leave_after_others(exit_code, "note: " + list_.own_work() + ": leaves, for " +
                                      name_of_rank(who.rank, who.pid) + " on " + list_.host +
                                      " has failed with exit code " + std::to_string(exit_code) +
                                      ". Its own message says why.");
}

void Liveness::leave_for(const Verdict& verdict) {
    if (verdict.culprit == static_cast<int>(list_.me)) {
        leave_after_others(
            verdict.exit_code,
            "error: " + list_.own_name() + ": the others have given this rank up (" + verdict.reason + ")");
    }
    if (verdict.culprit != verdict.author) {
        leave_after_others(verdict.exit_code, "error: " + list_.own_work() + ": " + verdict.reason);
    }
    const Peer& author = list_.peers[static_cast<std::size_t>(verdict.author)];
    leave_after_others(verdict.exit_code, "note: " + list_.own_work() + ": leaves, for " +
                                              name_of_rank(author.rank, author.pid) + " on " + list_.host +
                                              " has failed with exit code " +
                                              std::to_string(verdict.exit_code) + ": " + verdict.reason);
}

void Liveness::tell_far(int exit_code, const std::string& text, bool is_failure) const {
    if (list_.link) {
        list_.link->tell({.exit_code = exit_code, .is_failure = is_failure, .text = text});
    }
}

void Liveness::leave_for_far(const FarVerdict& far) {
    const bool is_first =
        list_.board.claim_verdict({static_cast<int>(list_.me), -1, far.exit_code, far.text});
    if (const auto verdict = is_first ? std::nullopt : verdict_of_others()) {
        leave_for(*verdict);
    }
    if (far.is_failure) {
        leave_after_others(far.exit_code, "note: " + list_.own_work() + ": leaves, for " + far.text);
    }
    leave_after_others(far.exit_code, "error: " + list_.own_work() + ": " + far.text,
                       is_first ? Words::kept : Words::said);
}

void Liveness::leave_without_launcher() {
    const std::string text = "the launcher (pid " + std::to_string(*list_.launcher) +
                             ") is gone, and with it who would end this job. Start the job again.";
    const bool is_first =
        list_.board.claim_verdict({static_cast<int>(list_.me), -1, exit_code_of_loss, text});
    if (is_first) {
        tell_far(exit_code_of_loss, "on " + list_.host + ", " + text, false);
    }
    leave(exit_code_of_loss, "error: " + list_.own_work() + ": " + text,
          is_first ? Words::kept : Words::said);
}

void Liveness::fail(int exit_code, const std::string& message) {
    // What a call says that has lost a peer (a connection reset, a file of his that is gone) is less than
    // what is known here a moment later.
    for (int i = 0; i < loss_tries; ++i) {
        look();
        std::this_thread::sleep_for(loss_pause);
    }
    const int me = static_cast<int>(list_.me);
    const bool is_first = list_.board.claim_verdict({me, me, exit_code, message});
    if (is_first) {
        const Peer& self = list_.peers[list_.me];
        tell_far(exit_code,
                 name_of_rank(self.rank, self.pid) + " on " + list_.host + " has failed with exit code " +
                     std::to_string(exit_code) + ": " + message,
                 true);
    }
    const std::lock_guard lock{looking_};  // if the watching thread leaves just now, it leaves for both
    const auto verdict = is_first ? std::nullopt : verdict_of_others();
    if (verdict && message.starts_with(verdict->reason)) {
        const Peer& author = list_.peers[static_cast<std::size_t>(verdict->author)];
        leave(exit_code,
              "note: " + list_.own_name() + ": the same error as on rank " + std::to_string(author.rank));
    }
    leave(exit_code, "error: " + list_.own_name() + ": " + message, Words::kept);
}

void Liveness::leave_after_others(int exit_code, const std::string& line, Words words) {
    begin_to_leave(exit_code, line, words);
    std::this_thread::sleep_for(courtesy_pause);
    ::_exit(exit_code);
}

void Liveness::leave(int exit_code, const std::string& line, Words words) {
    begin_to_leave(exit_code, line, words);
    ::_exit(exit_code);
}

void Liveness::begin_to_leave(int exit_code, const std::string& line, Words words) {
    is_ending_ = true;
    end_after(last_words_pause, exit_code);
    auto& mine = list_.my_line();
    mine.exit_code = exit_code;
    mine.stage = Stage::failed;
    say(line);
    {
        const std::lock_guard lock{naming_};
        if (told_before_leaving_) {
            told_before_leaving_(exit_code, line);
        }
    }
    // Whoever follows another rank, or saw what another has told first, leaves nothing that is not there.
    if (const auto path = error_file(); !path.empty() && words == Words::kept) {
        append_error(path, line);
    }
}

}  // namespace ziggurat::comm
