/// Outcome of a step.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "train/step/step_figures.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Values above which a step is a spike.
struct SpikeLimits {
    double loss_sum = std::numeric_limits<double>::infinity();  ///< limit of StepOutcome::loss_sum
    double grad_norm = std::numeric_limits<double>::infinity();
    bool skips = false;  ///< true: the update of a spike is not applied
};

/// Sums of the rewards of pairs of answers, over all ranks.
struct RewardSums {
    double chosen = 0;
    double rejected = 0;
    std::int64_t num_right = 0;  ///< pairs in which the chosen answer has the larger reward
    std::int64_t num_pairs = 0;
};

/// Loss of the samples of one data source, over all ranks.
struct SourceLoss {
    std::string name = {};    ///< of the source
    double sum = 0;           ///< over its target tokens, in nats; NaN if a loss is not finite
    std::int64_t tokens = 0;  ///< number of its target tokens; with a preference objective, of its pairs

    /// Returns nats per target token, or the loss per pair; nullopt without them.
    std::optional<double> mean() const {
        return tokens > 0 ? std::optional{sum / static_cast<double>(tokens)} : std::nullopt;
    }
};

/// Results of a step, equal on all ranks.
struct StepOutcome {
    /// Over the target tokens of the global batch, in nats; with a preference objective, over its pairs.
    double loss_sum = 0;
    std::optional<RewardSums> rewards = {};  ///< with a preference objective
    std::vector<SourceLoss> by_source = {};  ///< see StepEnd::split_losses; empty: losses are not split
    double grad_norm = 0;                    ///< before clipping
    bool is_spike = false;                   ///< finite, and above the limits
    bool is_skipped = false;     ///< not finite, or a spike that must be skipped: no state has changed
    bool is_updated = false;     ///< weights were updated before the norm was known, even if it is not finite
    bool is_abandoned = false;   ///< the step was abandoned: no state has changed, and it does not count
    StepRequests step_requests;  ///< sums over all ranks
    StepFigures figures;         ///< reduced over all ranks
};

}  // namespace ziggurat::train
