/// Threads that no signal reaches.
#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace ziggurat {

/// Starts a thread that takes no signals: those are the main thread's.
///
/// \param what  for the message: "the thread that ..."
/// Errors: Error{resource} when the system has no thread
template <class Work>
std::thread start_quiet_thread(const char* what, Work&& work) {
    // A new thread inherits the mask of the one that starts it.
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
