/// Launchers that end a job themselves when they are asked to: ranks have a moment until they are killed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "train/control/stop_signals.hpp"

namespace ziggurat::train {

struct LauncherEnd {
    std::string name;            ///< of its program: `mpirun`
    pid_t pid = 0;               ///< 0: it runs on another node
    double seconds_to_kill = 0;  ///< from SIGTERM on
    int exit_code = 1;           ///< of the launcher when it was interrupted, whatever the ranks return
};

/// The end that a SIGTERM of `sender` announces, where that is Open MPI's mpirun, or its daemon, which has
/// started this rank (odls_base_sigkill_timeout). Nothing for anybody else: batch systems leave longer, and
/// people as long as they like. Collective: local
std::optional<LauncherEnd> find_launcher_end(pid_t sender);
/// The same for the last signal that this process received.
std::optional<LauncherEnd> launcher_end_of(const StopSignals& signals);

}  // namespace ziggurat::train
