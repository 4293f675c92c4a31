/// plan --search: the fastest layouts of a deck that fit.
#pragma once

#include "app/deck/deck_options.hpp"
#include "base/progress.hpp"
#include "deck/load.hpp"
#include "deck/load_options.hpp"

namespace ziggurat::app {

/// Searches, prints the layouts found, and writes the deck of the fastest one if that is wanted.
///
/// Each layout is loaded as a deck with overrides, so its time and memory are those of the run that would
/// start. Returns the exit code: that of resource errors if no layout fits.
///
/// \param load  options with which the deck was loaded
/// Errors: Error{resource} if the file cannot be written
int search_and_print(const PlanOptions& options,
                     const deck::LoadedDeck& loaded,
                     const deck::LoadOptions& load,
                     Progress& progress);

}  // namespace ziggurat::app
