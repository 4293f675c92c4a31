/// Implementation of `ziggurat doctor --mpi`.
#pragma once

#include "app/doctor/doctor_options.hpp"
#include "comm/context.hpp"

namespace ziggurat::app {

/// Runs all checks and prints the results on rank 0. Returns the same exit code on all ranks.
///
/// Every rank checks its process; the first rank of each node checks the node and the folders; all ranks
/// check the connections between them. Collective: over `world`
int doctor_on_ranks(const DoctorOptions& options, const comm::Context& world);

}  // namespace ziggurat::app
