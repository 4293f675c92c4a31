/// A training that another process does.
#pragma once

#include <string>

namespace ziggurat::app {

/// Result of a process.
struct ProcessEnd {
    int exit_code = 0;  ///< 128 and the number of the signal that ended it, as in shells
    int signal = 0;     ///< signal that this process got and passed on; 0: none
};

/// Runs a shell command with the output of this process, and waits for it.
///
/// It has a session of its own. SIGINT, SIGTERM, SIGHUP and SIGUSR1 that this process gets are passed on to
/// it, so that each reaches it once.
///
/// Errors: Error{resource} if it cannot be started
ProcessEnd run_and_pass_signals(const std::string& command);

}  // namespace ziggurat::app
