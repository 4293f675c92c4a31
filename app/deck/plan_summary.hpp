/// Summary of a run before it starts, printed by `ziggurat plan DECK`.
#pragma once

#include <string>

#include "app/deck/epochs.hpp"
#include "deck/load.hpp"
#include "plan/report/memory_report.hpp"

namespace ziggurat::app {

/// True if a step has more passes of units than plan::max_passes: its ops are not built for a summary.
bool is_long_program(const spec::RunSpec& run);

/// Returns the summary of a plan.
///
/// It has machine, model, layout, time, memory with its verdict, number of ops of rank 0, and the options
/// that show more.
///
/// \param loaded  deck without errors, loaded for a plan
/// \param watch   called for each program that is built
std::string plan_summary(const deck::LoadedDeck& loaded,
                         const Epochs& epochs,
                         const plan::MemoryReport& memory,
                         const plan::Watch& watch = {});

}  // namespace ziggurat::app
