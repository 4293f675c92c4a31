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
    Rule{thousands_are_no_powers_of_two, "data.seq model.max_seq"},
};

}  // namespace

std::span<const Rule> unusual_rules() {
    return rules;
}

}  // namespace ziggurat::deck
