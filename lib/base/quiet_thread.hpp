/// Threads that block all signals.
#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace ziggurat {

/// Starts a thread that blocks all signals, so that only the main thread handles them.
///
/// \param what  text for the error message: "the thread that ..."
/// Errors: Error{resource} if the system cannot start a thread
template <class Work>
std::thread start_quiet_thread(const char* what, Work&& work) {
    // A new thread inherits the signal mask of its creator.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread{std::forward<Work>(work)};
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (const std::system_error& error) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw Error{ErrorKind::resource, std::string{"cannot start "} + what + " (" + error.what() +
                                             "). Raise the limit on processes (ulimit -u)."};
    }
}

}  // namespace ziggurat
