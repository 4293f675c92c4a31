/// Losses and samples by source as JSON, in metrics.jsonl and in the output of `eval --json`.
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "base/text/json_number.hpp"
#include "train/account/step_report.hpp"
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

/// Writes one object each for the samples of a step, all samples so far, and the shares of that step.
///
/// Writes nothing if `sources` is empty.
inline void write_samples_by_source(std::span<const SourceSamples> sources, JsonLine& line) {
    if (sources.empty()) {
        return;
    }
    line.open("samples_by_source");
    for (const auto& source : sources) {
        line.field(source.name, source.samples);
    }
    line.close();
    line.open("total_samples_by_source");
    for (const auto& source : sources) {
        line.field(source.name, source.total);
    }
    line.close();
    line.open("share_by_source");
    for (const auto& source : sources) {
        line.field(source.name, source.share);
    }
    line.close();
}

}  // namespace ziggurat::train
