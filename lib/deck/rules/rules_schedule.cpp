#include <fmt/format.h>

#include <array>

#include "deck/rules/rules.hpp"

namespace ziggurat::deck {
namespace {

void warmup_ends_within_the_run(const Resolution& at) {
    const spec::LearningRate& schedule = at.run.schedule;
    if (schedule.warmup_steps > at.run.train.steps) {
        at.found.error(at.values.location("schedule.warmup"),
                       fmt::format("a warm-up of {} steps", schedule.warmup_steps),
                       fmt::format("the run has {}", at.run.train.steps), "Shorten it.");
    }
}

void decay_fits_after_the_warmup(const Resolution& at) {
    const spec::LearningRate& schedule = at.run.schedule;
    const bool is_wsd = schedule.kind == spec::ScheduleKind::warmup_stable_decay;
    if (is_wsd && schedule.warmup_steps + schedule.decay_steps > at.run.train.steps) {
        at.found.error(at.values.location("schedule.decay"),
                       fmt::format("a warm-up of {} and a decay of {} steps", schedule.warmup_steps,
                                   schedule.decay_steps),
                       fmt::format("the run has {}", at.run.train.steps), "Shorten one of them.");
    }
}

constexpr std::array rules = {
    Rule{warmup_ends_within_the_run, "train schedule data.seq"},
    Rule{decay_fits_after_the_warmup, "train schedule data.seq"},
};

}  // namespace

std::span<const Rule> schedule_rules() {
    return rules;
}

}  // namespace ziggurat::deck
