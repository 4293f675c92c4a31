#include <fmt/format.h>

#include <array>

#include "base/printable.hpp"
#include "deck/messages/arithmetic.hpp"
#include "deck/rules/rules.hpp"

namespace ziggurat::deck {
namespace {

void global_batch_is_made_of_micro_batches(const Resolution& at) {
    const spec::Train& train = at.run.train;
    const std::int64_t at_once = train.micro_batch * at.run.parallel.data;
    if (train.global_batch % at_once == 0) {
        return;
    }
    at.found.error(
        at.values.location("train.global_batch"),
        fmt::format("train.global_batch = {} cannot be made from this layout", train.global_batch),
        fmt::format("global_batch = micro_batch {} x data {} x accumulation, and {} / {} is not whole",
                    train.micro_batch, at.run.parallel.data, train.global_batch, at_once),
        fmt::format("Use {}.", list_or(nearest_multiples(train.global_batch, at_once))));
}

/// The step program of a rank lists every operation of every micro-batch.
void a_step_can_be_listed(const Resolution& at) {
    constexpr std::int64_t most = 65536;
    const auto layers = (at.run.model.layers + at.run.parallel.stages - 1) / at.run.parallel.stages;
    const auto passes = layers * at.run.train.micro_batches;
    if (passes > most) {
        at.found.error(
            at.values.location("train.global_batch"),
            fmt::format("{} micro-batches through {} layers in one step", at.run.train.micro_batches, layers),
            fmt::format("a rank passes {} layers, and its step program can list {}", passes, most),
            "Use a larger train.micro_batch, more ranks, or a smaller train.global_batch.");
    }
}

void warmup_ends_within_the_run(const Resolution& at) {
    const spec::LearningRate& schedule = at.run.schedule;
    if (schedule.warmup_steps > at.run.train.steps) {
        at.found.error(at.values.location("schedule.warmup"),
                       fmt::format("a warm-up of {} steps", schedule.warmup_steps),
                       fmt::format("the run has {}", at.run.train.steps), "Shorten it.");
    }
}

void decay_fits_behind_the_warmup(const Resolution& at) {
    const spec::LearningRate& schedule = at.run.schedule;
    const bool is_wsd = schedule.kind == spec::ScheduleKind::warmup_stable_decay;
    if (is_wsd && schedule.warmup_steps + schedule.decay_steps > at.run.train.steps) {
        at.found.error(at.values.location("schedule.decay"),
                       fmt::format("a warm-up of {} and a decay of {} steps", schedule.warmup_steps,
                                   schedule.decay_steps),
                       fmt::format("the run has {}", at.run.train.steps), "Shorten one of them.");
    }
}

bool has_validation_data(const spec::Data& data) {
    return !data.validation.empty() || data.held_out > 0;
}

void validation_has_data(const Resolution& at) {
    if (at.run.validate.every && !has_validation_data(at.run.data)) {
        at.found.error(at.values.location("validate.every"), "there is nothing to validate on",
                       "data.validation is empty and data.held_out is 0%", "Give one of them.");
    }
}

void validation_data_is_looked_at(const Resolution& at) {
    if (!at.run.validate.every && has_validation_data(at.run.data)) {
        const char* key = at.run.data.validation.empty() ? "data.held_out" : "data.validation";
        at.found.warning(at.values.location(key), "validation data that is never looked at",
                         "validate.every is none", "Set it, for instance to 100 steps.");
    }
}

void samples_can_be_read(const Resolution& at) {
    if (at.run.validate.sample && at.run.data.tokenizer == spec::Tokenizer::none) {
        at.found.error(at.values.location("validate.sample"), "a sample without a tokenizer",
                       "a prompt becomes tokens and tokens become text by it",
                       "Remove it, or use tokenizer: bytes.");
    }
}

void prompts_say_something(const Resolution& at) {
    const auto& sample = at.run.validate.sample;
    if (sample && sample->prompt.empty()) {
        at.found.error(at.values.location("validate.sample.prompt"), "an empty prompt",
                       "the first token is predicted from it", "Write a few words.");
    }
}

void names_are_folders(const Resolution& at) {
    const std::string& name = at.run.run.name;
    if (name.empty() || name.size() > 100 || name.find('/') != std::string::npos || name == "." ||
        name == ".." || printable(name) != name) {
        at.found.error(at.values.location("run.name"),
                       fmt::format("run.name = {} cannot be a folder", in_quotes(name)),
                       "files of the run are named for it",
                       "Use up to 100 characters that can be printed, without '/'.");
    }
}

constexpr std::array rules = {
    Rule{names_are_folders, "run.name"},
    Rule{global_batch_is_made_of_micro_batches, "train.global_batch train.micro_batch parallel"},
    Rule{a_step_can_be_listed, "train.global_batch train.micro_batch parallel model"},
    Rule{warmup_ends_within_the_run, "train schedule data.seq"},
    Rule{decay_fits_behind_the_warmup, "train schedule data.seq"},
    Rule{validation_has_data, "validate.every data.validation data.held_out"},
    Rule{validation_data_is_looked_at, "validate.every data.validation data.held_out"},
    Rule{samples_can_be_read, "validate.sample data.tokenizer.kind"},
    Rule{prompts_say_something, "validate.sample.prompt"},
};

}  // namespace

std::span<const Rule> batch_rules() {
    return rules;
}

}  // namespace ziggurat::deck
