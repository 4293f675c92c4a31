/// Warnings about values that are valid but probably not intended.
#include <fmt/format.h>

#include <array>

#include "base/text/units.hpp"
#include "deck/rules/rules.hpp"

namespace ziggurat::deck {
namespace {

/// AdamW changes each weight by about the learning rate per step, and initial weights are about 0.02.
constexpr double highest_usual_rate = 0.1;

void learning_rate_is_one_to_train_with(const Resolution& at) {
    const double rate = at.run.optimizer.lr;
    if (rate > highest_usual_rate) {
        at.found.warning(
            at.values.location("optimizer.lr"), fmt::format("optimizer.lr = {}", rate),
            "AdamW changes each weight by about that amount per step, and initial weights are about 0.02",
            "Common values are 1e-5 to 1e-3.");
    }
}

/// Rates at which adapters hardly change within usual lengths of a training.
constexpr double lowest_usual_rate_of_adapters = 1.0e-5;

void learning_rate_suits_adapters(const Resolution& at) {
    const double rate = at.run.optimizer.lr;
    if (at.run.model.lora.is_on() && !at.run.train.objective.has_pairs() &&
        rate <= lowest_usual_rate_of_adapters) {
        at.found.warning(at.values.location("optimizer.lr"),
                         fmt::format("optimizer.lr = {} with train.lora", rate),
                         "adapters usually need about ten times the rate of full weights",
                         "Common values are 1e-4 to 2e-4.");
    }
}

/// Rates at which models leave their reference within few steps.
constexpr double highest_usual_rate_of_preferences = 1.0e-4;

void learning_rate_suits_preferences(const Resolution& at) {
    const double rate = at.run.optimizer.lr;
    if (at.run.train.objective.has_pairs() && !at.run.model.lora.is_on() &&
        rate >= highest_usual_rate_of_preferences) {
        at.found.warning(at.values.location("optimizer.lr"),
                         fmt::format("optimizer.lr = {} with train.objective.kind = {}", rate,
                                     at.values.keyword("train.objective.kind")),
                         "full weights move far from the reference at such rates, and answers degrade",
                         "Common values are 5e-7 to 5e-6, and with adapters (train.lora) 5e-6 to 1e-4.");
    }
}

void thousands_are_no_powers_of_two(const Resolution& at) {
    for (const char* key : {"data.seq", "model.max_seq"}) {
        const auto* value = at.values.find(key);
        if (at.values.is_written(key) && value->written.ends_with('k')) {
            const auto tokens = at.values.integer(key);
            at.found.note(at.values.location(key),
                          fmt::format("{} = {} is {} tokens", key, value->written, format_grouped(tokens)),
                          "k is a thousand",
                          fmt::format("{} would be a multiple of 1024.", tokens / 1000 * 1024));
        }
    }
}

constexpr std::array rules = {
    Rule{learning_rate_is_one_to_train_with, "optimizer.lr"},
    Rule{learning_rate_suits_adapters, "optimizer.lr train.lora train.objective"},
    Rule{learning_rate_suits_preferences, "optimizer.lr train.lora train.objective"},
    Rule{thousands_are_no_powers_of_two, "data.seq model.max_seq"},
};

}  // namespace

std::span<const Rule> unusual_rules() {
    return rules;
}

}  // namespace ziggurat::deck
