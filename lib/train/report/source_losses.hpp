/// Losses by source as JSON, in metrics.jsonl and in the output of `eval --json`.
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "base/text/json_number.hpp"
#include "train/step/step_outcome.hpp"

namespace ziggurat::train {

/// Writes `loss_by_source`, an object with one field per source, unless `losses` is empty.
///
/// A field is null if the source has no target tokens or a nonfinite loss.
inline void write_loss_by_source(std::span<const SourceLoss> losses, JsonLine& line) {
    if (losses.empty()) {
        return;
    }
    line.open("loss_by_source");
    for (const auto& source : losses) {
        const auto mean = source.mean();
        line.field(source.name, mean && std::isfinite(*mean) ? mean : std::nullopt);
    }
    line.close();
}

}  // namespace ziggurat::train
