/// Launchers that forward a signal to the ranks and kill them after a timeout.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "train/control/stop_signals.hpp"

namespace ziggurat::train {

struct LauncherGrace {
    std::string name;            ///< name of its program, such as `mpirun`
    pid_t pid = 0;               ///< 0: it runs on another node
    double seconds_to_kill = 0;  ///< time from SIGTERM to SIGKILL
    int exit_code = 1;           ///< of the launcher if interrupted; the ranks' codes have no effect
};

/// Returns the end that a SIGTERM from `sender` announces, if it is the Open MPI launcher of this rank.
///
/// The launcher is mpirun, or its daemon, which has started this rank (odls_base_sigkill_timeout). nullopt
/// for other senders: batch systems allow more time, and users set no timeout. Collective: local
std::optional<LauncherGrace> find_launcher_end(pid_t sender);
/// Same as find_launcher_end, for the sender of the last signal that this process received.
std::optional<LauncherGrace> launcher_end_of(const StopSignals& signals);

}  // namespace ziggurat::train
