#include "train/control/stop_signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/contract.hpp"

namespace ziggurat::train {
namespace {

constexpr std::array<int, 5> handled{SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGUSR2};

// Signal handlers can access only static variables. At most one StopSignals exists, and it owns them.
std::atomic<bool> is_installed{false};
std::atomic<int> asked{0};   ///< number of stop requests to this process
std::atomic<int> agreed{0};  ///< level that all ranks have agreed on
std::atomic<int> last_signal{0};
std::atomic<pid_t> last_sender{0};
std::atomic<bool> is_checkpoint_asked{false};
std::array<struct sigaction, handled.size()> previous;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void keep(int number, const siginfo_t* info) {
    last_sender.store(info->si_code == SI_USER ? info->si_pid : 0);
    last_signal.store(number);
}

extern "C" void count_signal(int number, siginfo_t* info, void* /*context*/) {
    const int saved_errno = errno;
    if (number == SIGUSR2) {
        is_checkpoint_asked.store(true);
    } else if (number == SIGHUP) {
        int none = StopSignals::none;
        if (asked.compare_exchange_strong(none, StopSignals::after_step)) {
            keep(number, info);
        }
    } else {
        keep(number, info);
        if (asked.fetch_add(1) + 1 > StopSignals::after_microbatch) {
            constexpr std::string_view text =
                "ziggurat: third stop request: exits now, without checkpoint or report\n";
            [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
            ::_exit(128 + number);
        }
    }
    errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals() {
    ZG_EXPECTS(!is_installed.exchange(true));
    asked = 0;
    agreed = 0;
    last_signal = 0;
    last_sender = 0;
    is_checkpoint_asked = false;
    struct sigaction action {};
    action.sa_sigaction = count_signal;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    for (const int number : handled) {
        sigaddset(&action.sa_mask, number);
    }
    for (std::size_t i = 0; i < handled.size(); ++i) {
        sigaction(handled[i], &action, &previous[i]);
        // A signal that was ignored stays ignored: nohup ignores SIGHUP, and a shell ignores SIGINT in
        // commands that a script starts in the background.
        const bool is_of_terminal = handled[i] == SIGHUP || handled[i] == SIGINT;
        if (is_of_terminal && previous[i].sa_handler == SIG_IGN) {
            sigaction(handled[i], &previous[i], nullptr);
        }
    }
}

StopSignals::~StopSignals() {
    for (std::size_t i = 0; i < handled.size(); ++i) {
        sigaction(handled[i], &previous[i], nullptr);
    }
    is_installed = false;
}

int StopSignals::requested() const noexcept {
    return std::max(std::min(asked.load(), after_microbatch), agreed.load());
}

void StopSignals::merge(int level) noexcept {
    int now = agreed.load();
    while (level > now && !agreed.compare_exchange_weak(now, level)) {}
}

int StopSignals::signal() const noexcept {
    return last_signal.load();
}

pid_t StopSignals::sender() const noexcept {
    return last_sender.load();
}

bool StopSignals::take_checkpoint_request() noexcept {
    return is_checkpoint_asked.load() && is_checkpoint_asked.exchange(false);
}

std::string signal_name(int number) {
    const char* name = sigabbrev_np(number);
    return name != nullptr ? std::string{"SIG"} + name : "signal " + std::to_string(number);
}

}  // namespace ziggurat::train
