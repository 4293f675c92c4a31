/// Output of `ziggurat plan --json`; decks/PLAN.md has the fields.
#pragma once

#include <optional>
#include <string>

#include "app/deck/epochs.hpp"
#include "deck/load.hpp"
#include "plan/report/memory_report.hpp"

namespace ziggurat::app {

/// Result of a plan. `loaded` is nullptr if the deck or the machine has errors.
struct PlanAnswer {
    std::string deck;
    int exit_code = 0;
    const deck::Diagnostics& found;
    const deck::LoadedDeck* loaded = nullptr;
    const plan::MemoryReport* memory = nullptr;
    Epochs epochs = {};
    /// Rank whose program is built for its traffic; empty: rank 0, unless its program is long.
    std::optional<int> rank = {};
};

/// Returns one JSON object with all that `ziggurat plan` prints; it is valid for any bytes in texts.
std::string plan_as_json(const PlanAnswer& answer, const plan::Watch& watch = {});

}  // namespace ziggurat::app
