#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "deck/rules/rules.hpp"
#include "spec/source_weights.hpp"

namespace ziggurat::deck {
namespace {

std::string key_of(std::size_t source) {
    return fmt::format("data.train[{}].weight", source);
}

/// Reports the first step at which all weights are 0.
void a_source_has_a_weight_in_each_step(const Resolution& at) {
    const auto& sources = at.run.data.train;
    for (const auto step : spec::weight_steps(at.run.data)) {
        const auto weights = spec::weights_at(at.run.data, step);
        if (weights.empty() || std::ranges::any_of(weights, [](double weight) { return weight > 0; })) {
            continue;
        }
        // The last key that changes at this step makes the sum 0; at step 0 it is the first key.
        std::size_t cause = 0;
        for (std::size_t s = 0; s < sources.size(); ++s) {
            const bool changes =
                std::ranges::any_of(sources[s].weight_changes,
                                    [&](const spec::WeightChange& change) { return change.step == step; });
            cause = changes ? s : cause;
        }
        at.found.error(at.values.location(key_of(cause)),
                       fmt::format("all weights of data.train are 0 from step {} on", step),
                       "there is nothing to train on", "Give a source a weight above 0 at that step.");
        return;
    }
}

/// Reports each source whose weight is always 0.
void each_source_is_used(const Resolution& at) {
    const auto& sources = at.run.data.train;
    for (std::size_t s = 0; s < sources.size() && sources.size() > 1; ++s) {
        const bool is_used =
            sources[s].weight > 0 ||
            std::ranges::any_of(sources[s].weight_changes, [&](const spec::WeightChange& change) {
                return change.weight > 0 && change.step < at.run.train.steps;
            });
        if (!is_used) {
            at.found.warning(at.values.location(key_of(s)), fmt::format("data.train[{}] is never used", s),
                             "its weight is 0 in all steps of the run", "Remove it, or give it a weight.");
        }
    }
}

void changes_are_within_the_run(const Resolution& at) {
    const auto& sources = at.run.data.train;
    for (std::size_t s = 0; s < sources.size() && sources.size() > 1; ++s) {
        const auto late = std::ranges::find_if(
            sources[s].weight_changes,
            [&](const spec::WeightChange& change) { return change.step >= at.run.train.steps; });
        if (late != sources[s].weight_changes.end()) {
            at.found.warning(
                at.values.location(key_of(s)),
                fmt::format("the weight of data.train[{}] from step {} on is never used", s, late->step),
                fmt::format("the run has {} steps, counted from 0", at.run.train.steps),
                "Remove it, or train longer.");
        }
    }
}

constexpr std::array rules = {
    Rule{a_source_has_a_weight_in_each_step, "data.train"},
    Rule{each_source_is_used, "data.train train.steps train.tokens"},
    Rule{changes_are_within_the_run, "data.train train.steps train.tokens"},
};

}  // namespace

std::span<const Rule> weight_rules() {
    return rules;
}

}  // namespace ziggurat::deck
