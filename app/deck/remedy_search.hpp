/// Search for changes with which a deck fits, as commands run it.
#pragma once

#include "app/deck/deck_options.hpp"
#include "deck/load.hpp"
#include "deck/load_options.hpp"
#include "plan/search/remedies.hpp"

namespace ziggurat::app {

/// Processor time of a command, from its start, after which a search for remedies tries no more.
///
/// The change that is tried then, and those that are tried in any case, take about two more seconds.
inline constexpr double max_seconds_of_remedies = 7;

enum class RemedyTime { limited, unlimited };

/// Returns a search that loads each change as the command of `job` with these overrides does.
///
/// \param load  options with which `loaded` was loaded; what they refer to must outlive the search
plan::RemedySearch remedy_search(const PlannedJob& job,
                                 const deck::LoadOptions& load,
                                 const deck::LoadedDeck& loaded,
                                 RemedyTime time = RemedyTime::limited);

}  // namespace ziggurat::app
