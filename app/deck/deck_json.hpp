/// Facts of a deck as JSON, for the commands `check` and `plan`; decks/CHECK.md has the fields.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "app/deck/epochs.hpp"
#include "deck/load.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/run_goodput.hpp"

namespace ziggurat::app {

using Json = nlohmann::ordered_json;

/// Returns `device_B`, `host_B` and `nvme_B`; null for the value `none`.
Json by_tier(const spec::ByTier<std::int64_t>& bytes, std::int64_t none = spec::unlimited);

Json problems_json(const deck::Diagnostics& found);
Json model_json(const spec::RunSpec& run);
/// Returns the preference objective; null without one.
Json objective_json(const spec::Objective& objective);
Json batch_json(const spec::RunSpec& run, const Epochs& epochs);
Json layout_json(const spec::RunSpec& run);
Json memory_json(const plan::MemoryReport& memory);
/// Returns null for a run without checkpoints.
Json checkpoint_json(const spec::RunSpec& run);
/// Returns null if the time of a step is unknown.
Json time_json(const spec::RunSpec& run, std::optional<double> seconds, bool is_lower_bound);
/// Returns null if the goodput is unknown.
Json goodput_json(const std::optional<plan::RunGoodput>& goodput);

}  // namespace ziggurat::app
