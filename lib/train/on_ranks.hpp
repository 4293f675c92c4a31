/// Main function of a program on all ranks that the launcher started.
#pragma once

#include <functional>

#include "comm/context.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::train {

/// Initializes MPI and runs `body`; returns the exit code that `body` returns.
///
/// Prints errors of `body` and then ends the job. If `body` throws Stopped on all ranks, rank 0 prints it,
/// and the result is exit_code_run_again.
///
/// \param stopped_timeout_seconds  as of comm::Session
/// Collective: over all ranks that the launcher started; one rank without a launcher
int on_ranks(const std::function<int(const comm::Context&)>& body,
             double stopped_timeout_seconds = comm::Liveness::first_timeout_seconds);

}  // namespace ziggurat::train
