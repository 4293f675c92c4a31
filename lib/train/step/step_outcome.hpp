/// Outcome of a step.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "train/step/step_figures.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Values above which a step is a spike.
struct SpikeLimits {
    double loss_sum = std::numeric_limits<double>::infinity();  ///< as in the outcome
    double grad_norm = std::numeric_limits<double>::infinity();
    bool skips = false;  ///< the update of a spike is not applied
};

/// Loss of the samples of one source.
struct SourceSum {
    double loss_sum = 0;      ///< nats; not a number where one of them is not finite
    std::int64_t tokens = 0;  ///< target tokens
};

/// Results of a step that all ranks know alike.
struct StepOutcome {
    double loss_sum = 0;                    ///< over the target tokens of the global batch, nats
    std::vector<SourceSum> by_source = {};  ///< see StepEnd::split_losses; empty: they are not split
    double grad_norm = 0;                   ///< before clipping
    bool is_spike = false;                  ///< finite, and above the limits
    bool is_skipped = false;     ///< not finite, or a spike that is to be left out: no state has changed
    bool is_abandoned = false;   ///< ranks gave the step up: no state has changed, and it does not count
    StepRequests step_requests;  ///< of all ranks
    StepFigures figures;         ///< of all ranks
};

}  // namespace ziggurat::train
