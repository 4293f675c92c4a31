#include "app/sweep/launched_run.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "base/process/start_process.hpp"

namespace ziggurat::app {
namespace {

constexpr std::array passed_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

std::atomic<pid_t> running{-1};
std::atomic<int> last_signal{0};

void pass_on(int signal) {
    const int before = errno;
    last_signal = signal;
    if (const pid_t process = running; process > 0) {
        ::kill(process, signal);
    }
    errno = before;
}

sigset_t passed_set() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : passed_signals) {
        sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

ProcessEnd run_and_pass_signals(const std::string& command) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (const int signal : passed_signals) {
        ::sigaction(signal, &action, nullptr);
    }
    last_signal = 0;
    const auto passed = passed_set();
    ::sigprocmask(SIG_BLOCK, &passed, nullptr);  // until the process is known
    std::fflush(nullptr);
    running = start_process({.command = {"/bin/sh", "-c", command},
                             .output = STDOUT_FILENO,
                             .errors = STDERR_FILENO,
                             .has_own_session = true});
    const int problem = errno;
    ::sigprocmask(SIG_UNBLOCK, &passed, nullptr);
    if (running < 0) {
        throw Error{ErrorKind::resource, fmt::format("cannot start '/bin/sh' ({}). Raise the limit on "
                                                     "processes (ulimit -u).",
                                                     std::strerror(problem))};
    }
    const int exit_code = wait_for_process(running);
    running = -1;
    return {exit_code, last_signal};
}

}  // namespace ziggurat::app
