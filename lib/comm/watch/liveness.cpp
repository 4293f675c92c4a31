#include "comm/watch/liveness.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace ziggurat::comm {
namespace {

/// Polling interval for the states of processes if their ends cannot be waited for.
constexpr std::int64_t polling_tick_ns = 100'000'000;
/// Number of polls after a failed call: the death that explains it may become visible only later.
constexpr int loss_tries = 30;
constexpr auto loss_pause = std::chrono::milliseconds{10};

bool is_ended(const FileHandle& process) {
    pollfd asked{process.get(), POLLIN, 0};
    return ::poll(&asked, 1, 0) > 0;
}

bool is_process(pid_t pid) {
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

/// Scope in which signals are blocked: the main thread must receive them during its waits.
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

Liveness::Liveness(MonitoredRanks list, double stopped_timeout_seconds)
    : list_{std::move(list)},
      processes_(list_.peers.size()),
      ended_(list_.peers.size(), false),
      wake_{::eventfd(0, EFD_CLOEXEC)},
      stopped_timeout_seconds_{stopped_timeout_seconds},
      departure_{list_},
      reasons_{list_, departure_},
      questions_{list_},
      hangs_{list_, monotonic_ns()} {
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        if (p != list_.me) {
            processes_[p] = watch_process(list_.peers[p].pid);
        }
    }
    if (list_.launcher) {
        launcher_ = watch_process(*list_.launcher);
    }
    const SignalsBlocked during_start;  // inherited by the new thread
    try {
        thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error& error) {
        throw Error{ErrorKind::resource, std::string{"cannot start the thread that monitors the ranks ("} +
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

void Liveness::set_hang_timeout(double seconds) noexcept {
    timeout_seconds_ = seconds;
    stopped_timeout_seconds_ = seconds;
    wake();
}

void Liveness::begin_activity(std::string_view what, std::int64_t since_ns) noexcept {
    auto& activity = list_.my_line().activity;
    activity.doing.store(ActivityState::works, std::memory_order_relaxed);
    activity.since_ns.store(since_ns, std::memory_order_relaxed);
    activity.what.store(what);
    doing_ = ActivityState::works;
}

void Liveness::waits_for(std::string_view what) noexcept {
    begin_wait(ActivityState::waits, what);
}

void Liveness::device_busy(std::string_view what) noexcept {
    begin_wait(ActivityState::device_busy, what);
}

void Liveness::begin_wait(ActivityState doing, std::string_view what) noexcept {
    if (doing_ == doing) {
        return;
    }
    auto& activity = list_.my_line().activity;
    activity.what.store(what);
    activity.since_ns.store(monotonic_ns(), std::memory_order_relaxed);
    activity.doing.store(doing, std::memory_order_release);
    doing_ = doing;
}

void Liveness::end_wait() noexcept {
    if (doing_ != ActivityState::works) {
        list_.my_line().activity.doing.store(ActivityState::works, std::memory_order_relaxed);
        list_.my_line().activity.what.store("looking for its next op");
        doing_ = ActivityState::works;
    }
}

void Liveness::announce_exit() noexcept {
    begin_activity("the end of the job", monotonic_ns());
    is_finishing_ = true;
    if (!list_.is_shared) {
        // Without a shared board, a rank that ends normally cannot be distinguished from a failed one.
        stops_ = true;
    }
}

void Liveness::poll_once() {
    const std::lock_guard lock{looking_};
    if (stops_) {
        return;
    }
    if (const auto far = list_.link ? list_.link->receive() : std::nullopt) {
        reasons_.remote_abort(*far);
    }
    if (launcher_ && is_ended(launcher_)) {
        reasons_.lost_launcher();
    }
    // A rank that died without a message is the cause; one that reported a failure may only follow from it.
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
                leave_dead_peer(p);
        }
    }
    if (failed) {
        reasons_.failed_peer(*failed);
    }
}

void Liveness::when_launcher_ends(std::function<std::string()> name) {
    const std::lock_guard lock{looking_};
    ending_launcher_ = std::move(name);
}

void Liveness::leave_dead_peer(std::size_t peer) {
    const auto signal = killing_signal(list_.peers[peer].pid, processes_[peer]);
    if (ending_launcher_ && signal.value_or(SIGKILL) == SIGKILL) {
        const auto name = ending_launcher_();
        if (!name.empty() && is_finishing_) {  // this rank is done, and its exit code does not matter
            list_.my_line().stage = Stage::finished;
            ::_exit(static_cast<int>(ErrorKind::communication));
        }
        if (!name.empty()) {
            reasons_.killed_by_launcher(peer, name);
        }
    }
    reasons_.dead_peer(peer, signal);
}

bool Liveness::is_dead(std::size_t peer) const {
    if (processes_[peer]) {
        return is_ended(processes_[peer]);
    }
    const auto state = process_state(list_.peers[peer].pid);
    if (!state) {
        // The state may be missing only because no more files can be opened here.
        return !is_process(list_.peers[peer].pid);
    }
    return state->is_dead() || state->started_at != list_.peers[peer].started_at;
}

bool Liveness::wait_for_event() {
    bool must_poll = false;
    {
        const std::lock_guard lock{looking_};
        asked_.clear();  // keeps its memory: neither a step nor this thread allocates
        asked_.push_back({wake_.get(), POLLIN, 0});
        asked_.push_back({launcher_.get(), POLLIN, 0});  // poll() ignores -1
        asked_.push_back({list_.link ? list_.link->descriptor() : -1, POLLIN, 0});
        for (std::size_t p = 0; p < list_.peers.size(); ++p) {
            if (p != list_.me && !ended_[p]) {
                asked_.push_back({processes_[p].get(), POLLIN, 0});
                must_poll = must_poll || !processes_[p];
            }
        }
    }
    const std::int64_t tick_ns =
        HangWatch::tick_ns(std::min<double>(timeout_seconds_, stopped_timeout_seconds_));
    const std::int64_t max_ns = must_poll ? std::min(tick_ns, polling_tick_ns) : tick_ns;
    const int event = ::poll(asked_.data(), asked_.size(), static_cast<int>(max_ns / 1'000'000));
    if (asked_.front().revents != 0) {
        std::uint64_t drained = 0;
        [[maybe_unused]] const ssize_t ignored = ::read(wake_.get(), &drained, sizeof drained);
    }
    return event != 0 || must_poll;
}

void Liveness::run() {
    pthread_setname_np(pthread_self(), "zg-watch");
    while (!stops_) {
        if (wait_for_event()) {
            poll_once();
        }
        if (!stops_) {
            diagnose();
        }
    }
}

void Liveness::diagnose() {
    const std::lock_guard lock{looking_};
    const std::int64_t now_ns = monotonic_ns();
    questions_.poll_once(now_ns, timeout_seconds_);
    reasons_.note_kills(now_ns);
    const auto verdict = hangs_.poll_once(now_ns, {timeout_seconds_, stopped_timeout_seconds_}, ended_);
    if (verdict && verdict->leaves) {
        reasons_.hang(*verdict);
    }
    if (verdict) {
        print_on_stderr("warning: " + list_.own_work() + ": " + verdict->text);
    }
}

void Liveness::fail(int exit_code, const std::string& message) {
    // A failed call may be the result of the death of a peer, which is detected only a moment later. Its
    // error (a connection reset, a missing file of that peer) is less specific.
    for (int i = 0; i < loss_tries; ++i) {
        poll_once();
        std::this_thread::sleep_for(loss_pause);
    }
    const bool is_first = reasons_.claim_failure(exit_code, message);
    const std::lock_guard lock{looking_};  // if the monitoring thread aborts now, it does so for both
    reasons_.own_failure(exit_code, message, is_first);
}

}  // namespace ziggurat::comm
