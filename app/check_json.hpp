/// Output of `ziggurat check --json`; decks/CHECK.md has the fields.
#pragma once

#include <optional>
#include <string>

#include "app/epochs.hpp"
#include "app/gpu_forecast.hpp"
#include "deck/load.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {

/// The answer of a check. `loaded` is none where the deck, or the machine, is wrong.
struct CheckAnswer {
    std::string deck;
    int exit_code = 0;
    const deck::Diagnostics& found;
    const deck::LoadedDeck* loaded = nullptr;
    std::string start = {};  ///< what the run begins with; empty: initial values, or not known
    std::optional<plan::MemoryReport> memory = {};
    std::optional<AttentionForecast> attention = {};
    std::vector<plan::CommunicatorBlocks> communicators = {};
    Epochs epochs = {};
};

/// One JSON object, valid whatever bytes texts have.
std::string check_as_json(const CheckAnswer& answer);

}  // namespace ziggurat::app
