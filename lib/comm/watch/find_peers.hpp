/// Finding the ranks of this machine, so that they can be watched.
#pragma once

#include <mpi.h>

#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

/// Who shares this machine and its process numbers with this rank, a board for all of them, and the launcher.
/// Pretended nodes are one machine here.
///
/// Called before anything else that communicates: who dies before all know each other is found missing by
/// looking at the processes of the machine (launched_ranks.hpp).
///
/// Collective: over `world`
/// Errors:     Error{communication} when a rank is missing, or does not come within
///             Liveness::first_patience_seconds
WatchList find_peers(MPI_Comm world);

}  // namespace ziggurat::comm
