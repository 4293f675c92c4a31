/// plan --search: the fastest layouts of a deck that fit.
#pragma once

#include "app/deck/deck_options.hpp"
#include "base/progress.hpp"
#include "deck/load.hpp"
#include "deck/load_options.hpp"

namespace ziggurat::app {

/// Loads the deck of a search. A layout that the deck leaves open is not chosen: the search does that.
///
/// \param leaves_layout  set to true if the deck leaves a part of its layout open. The run is then complete
///                       except for its layout, and no rule has checked it
deck::LoadedDeck load_for_search(const PlanOptions& options, deck::LoadOptions load, bool& leaves_layout);

/// Searches, prints the layouts found, and writes the deck of the fastest one if that is wanted.
///
/// Each layout is loaded as a deck with overrides, so its time and memory are those of the run that would
/// start. Returns the exit code: that of resource errors if no layout fits.
///
/// \param leaves_layout  true if the deck has no layout of its own to compare with
/// \param load  options with which the deck was loaded
/// Errors: Error{resource} if the file cannot be written
int search_and_print(const PlanOptions& options,
                     const deck::LoadedDeck& loaded,
                     bool leaves_layout,
                     const deck::LoadOptions& load,
                     Progress& progress);

}  // namespace ziggurat::app
