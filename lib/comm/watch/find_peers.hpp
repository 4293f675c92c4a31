/// find_peers: ranks of this node, found at the start so that they can be monitored.
#pragma once

#include <mpi.h>

#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

/// Returns the ranks of this node and pid namespace, a board for all of them, and the launcher.
///
/// Emulated nodes count as one node here.
///
/// Called before any other communication. A rank that dies before the ranks are connected is found to be
/// missing among the processes of the node (launched_ranks.hpp). StartClock ends the job if a rank hangs.
///
/// Collective: over `world`
/// Errors:     Error{communication} if a rank is missing
MonitoredRanks find_peers(MPI_Comm world);

}  // namespace ziggurat::comm
