/// A command on all ranks that the launcher started.
#pragma once

#include <functional>
#include <string>

#include "comm/communicator.hpp"

namespace ziggurat::app {

/// One rank has failed, perhaps alone: says why, and the others, which may wait for it, leave with it.
///
/// \returns the exit code, on the only rank of a world of one; otherwise the process ends here
int end_job(const comm::Communicator& world, const std::string& problem, int exit_code);

/// Starts MPI, runs `body`, which gives the exit code, and turns its errors into messages and the end of the
/// job.
/// Collective: over all ranks that the launcher started; alone without one
int on_ranks(const std::function<int(const comm::Communicator&)>& body);

}  // namespace ziggurat::app
