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

/// Returns a run on pairs of answers: the margin grows from 0 to 2, and the accuracy from 50 to 100 %.
inline History preference_history(std::int64_t steps,
                                  const std::string& folder = "runs/dpo",
                                  LossKind kind = LossKind::dpo) {
    auto history = usual_history(steps, folder);
    history.loss_kind = kind;
    for (auto& step : history.steps) {
        const double share = static_cast<double>(step.step) / static_cast<double>(steps);
        step.loss = std::log(2) * (1 - 0.5 * share);
        step.rewards =
            Rewards{.chosen = 0.5 * share, .rejected = -1.5 * share, .accuracy = 0.5 + 0.5 * share};
    }
    history.validations = {{.step = steps, .loss = 0.5, .rewards = Rewards{0.25, -0.75, 0.75}}};
    return history;
}

/// Returns a run of two sources, books and code, whose weights change after half of the steps.
inline History blend_history(std::int64_t steps, const std::string& folder = "runs/blend") {
    auto history = usual_history(steps, folder);
    history.train_sources = {"books", "code"};
    history.validation_sources = {"code", "mail"};
    for (auto& step : history.steps) {
        step.loss_by_source = {*step.loss + 0.5, step.step == 2 ? std::nan("") : *step.loss - 0.5};
    }
    history.validations = {{.step = steps, .loss = 1.75, .loss_by_source = {1.25, 2.25}}};
    history.marks = {{MarkKind::weights,
                      steps / 2,
                      "weights: books 70 to 20 %, code 30 to 80 %",
                      {{"books", 0.2}, {"code", 0.8}}}};
    return history;
}

}  // namespace ziggurat::plot::test
