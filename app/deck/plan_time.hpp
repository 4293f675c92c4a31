/// `ziggurat plan --time`: the planned time of a step.
#pragma once

#include "app/deck/deck_options.hpp"
#include "deck/load.hpp"

namespace ziggurat::app {

/// Prints the planned time of a step, and writes its trace if the options ask for one.
///
/// Returns the exit code.
int plan_time(const PlanOptions& options, const deck::LoadedDeck& loaded);

}  // namespace ziggurat::app
