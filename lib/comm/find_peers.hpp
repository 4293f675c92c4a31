/// Finding the ranks of this machine, so that they can be watched.
#pragma once

#include "comm/communicator.hpp"
#include "comm/liveness.hpp"

namespace ziggurat::comm {

/// Who shares this machine and its process numbers with this rank, a board for all of them, and the launcher.
/// Pretended nodes are one machine here.
///
/// Collective: over `world`
/// Errors:     Error{communication} when some rank does not come within Liveness::first_patience_seconds
WatchList find_peers(const Communicator& world);

}  // namespace ziggurat::comm
