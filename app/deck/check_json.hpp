/// Output of `ziggurat check --json`; decks/CHECK.md has the fields.
#pragma once

#include <optional>
#include <string>

#include "app/deck/epochs.hpp"
#include "app/deck/gpu_forecast.hpp"
#include "deck/load.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/run_goodput.hpp"
#include "plan/search/longest_sequence.hpp"

namespace ziggurat::app {

/// Result of a check. `loaded` is nullptr if the deck or the machine has errors.
struct CheckAnswer {
    std::string deck;
    int exit_code = 0;
    const deck::Diagnostics& found;
    const deck::LoadedDeck* loaded = nullptr;
    std::string start = {};  ///< state that the run begins with; empty: initial values, or unknown
    std::optional<plan::MemoryReport> memory = {};
    std::optional<AttentionForecast> attention = {};
    std::vector<plan::CommunicatorBlocks> communicators = {};
    std::optional<double> step_seconds = {};  ///< as of plan::planned_step_seconds
    std::optional<plan::RunGoodput> goodput = {};
    std::optional<plan::LongestSequence> longest = {};  ///< with --longest
    Epochs epochs = {};
    PackedSources packed = {};
    SourceTargets targets = {};
};

/// Returns one JSON object; it is valid for any bytes in texts.
std::string check_as_json(const CheckAnswer& answer);

}  // namespace ziggurat::app
