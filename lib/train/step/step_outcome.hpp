/// Outcome of a step.
#pragma once

#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Results of a step that all ranks know alike.
struct StepOutcome {
    double loss_sum = 0;         ///< over the target tokens of the global batch, nats
    double grad_norm = 0;        ///< before clipping
    bool is_skipped = false;     ///< the gradient was not finite and no state has changed
    bool is_abandoned = false;   ///< ranks gave the step up: no state has changed, and it does not count
    StepRequests step_requests;  ///< of all ranks
};

}  // namespace ziggurat::train
