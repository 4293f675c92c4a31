/// Peers, the ranks of this machine: found at the start, so that they can be watched.
#pragma once

#include <mpi.h>

#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

/// Ranks that share this machine and its process numbers with this one, a board for all of them, and the
/// launcher. Pretended nodes are one machine here.
///
/// Called before anything else that communicates: a rank that dies before all know each other is found
/// missing among the processes of the machine (launched_ranks.hpp).
///
/// Collective: over `world`
/// Errors:     Error{communication} when a rank is missing, or does not come within
///             Liveness::first_patience_seconds
WatchList find_peers(MPI_Comm world);

}  // namespace ziggurat::comm
