/// Histories for tests of figures.
#pragma once

#include <cmath>

#include "plot/history.hpp"

namespace ziggurat::plot::test {

/// Returns a loss that falls from 8 nats at 54000 tokens per second, with 5 % of the time waiting for
/// ranks.
inline History usual_history(std::int64_t steps, const std::string& folder = "runs/a") {
    History history;
    history.path = folder;
    history.path += "/metrics.jsonl";
    history.name = "usual";
    history.ranks = 2;
    history.parameters = 1'869'504;
    for (std::int64_t i = 1; i <= steps; ++i) {
        Step step{.step = i,
                  .loss = 1.5 + 6.5 * std::exp(-5.0 * static_cast<double>(i) / static_cast<double>(steps)),
                  .tok_s = 54000,
                  .step_s = 0.02};
        step.stall_s[1] = 0.001F;
        history.steps.push_back(step);
    }
    return history;
}

}  // namespace ziggurat::plot::test
