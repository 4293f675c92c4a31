/// `ziggurat plan DECK`: all that is known of a run before it starts, in short.
#pragma once

#include <string>

#include "app/epochs.hpp"
#include "deck/load.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {

/// Model, layout, time, what cannot be trained yet, memory with its verdict, the ops of rank 0, and which
/// options show more.
///
/// \param loaded  a deck without errors, loaded for a plan
/// \param watch   told of the programs that are built
std::string plan_summary(const deck::LoadedDeck& loaded,
                         const Epochs& epochs,
                         const plan::MemoryReport& memory,
                         const plan::Watch& watch = {});

}  // namespace ziggurat::app
