/// plan --recompute: greedy and exact choices of recomputation.
#pragma once

#include "base/progress.hpp"
#include "deck/load.hpp"

namespace ziggurat::app {

/// Prints the time and the memory of the choices, and returns the exit code.
///
/// The code is that of resource errors if no choice fits.
///
/// Errors: Error{resource} if the solver cannot run
int print_recomputation(const deck::LoadedDeck& loaded, Progress& progress);

}  // namespace ziggurat::app
