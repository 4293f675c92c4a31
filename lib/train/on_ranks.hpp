/// The frame of a program: what it does on all ranks that the launcher started.
#pragma once

#include <functional>

#include "comm/context.hpp"

namespace ziggurat::train {

/// Starts MPI, runs `body`, which gives the exit code, and turns its errors into messages and the end of the
/// job.
/// Collective: over all ranks that the launcher started; alone without one
int on_ranks(const std::function<int(const comm::Context&)>& body);

}  // namespace ziggurat::train
