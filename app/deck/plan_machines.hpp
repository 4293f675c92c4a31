/// Search for the machine and the number of nodes of a job.
#pragma once

#include "app/deck/deck_options.hpp"
#include "base/progress.hpp"
#include "deck/load_options.hpp"

namespace ziggurat::app {

/// Prints the best jobs that train the deck on options.machines, by options.objective.
///
/// Each has its fastest layout that fits.
/// Numbers of nodes are powers of two up to options.nodes. Degrees that options.overrides do not set are
/// chosen.
///
/// \param load  without machine and ranks
/// \return the exit code: 3 if no job fits
int compare_machines_and_print(const PlanOptions& options, const deck::LoadOptions& load, Progress& progress);

}  // namespace ziggurat::app
