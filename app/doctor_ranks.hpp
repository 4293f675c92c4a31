/// doctor_on_ranks: `ziggurat doctor --mpi`.
#pragma once

#include "app/cli.hpp"
#include "comm/context.hpp"

namespace ziggurat::app {

/// Every rank looks at itself, the first of each node at the node and the folders, all at what is between
/// them; rank 0 prints. The exit code, alike on all ranks. Collective: over `world`
int doctor_on_ranks(const Arguments& arguments, const comm::Context& world);

}  // namespace ziggurat::app
