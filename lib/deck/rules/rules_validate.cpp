#include <fmt/format.h>

#include <array>
#include <utility>

#include "deck/rules/rules.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::deck {
namespace {

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
        at.found.warning(at.values.location(key), "validation data that is never used",
                         "validate.every = none", "Set it, for instance to 100 steps.");
    }
}

void samples_can_be_read(const Resolution& at) {
    if (at.run.validate.sample && at.run.data.tokenizer.kind == spec::TokenizerKind::none) {
        at.found.error(at.values.location("validate.sample"), "a sample without a tokenizer",
                       "it converts the prompt to tokens, and tokens to text",
                       "Remove it, or name the tokenizer: {kind: hf, path: PATH}.");
    }
}

void chats_have_an_end(const Resolution& at) {
    const auto& sample = at.run.validate.sample;
    if (sample && sample->is_chat && at.run.data.tokenizer.kind == spec::TokenizerKind::bytes) {
        at.found.error(at.values.location("validate.sample.chat"), "a chat sample with the bytes tokenizer",
                       "bytes have no chat template, and no token ends an answer",
                       "Use tokenizer: {kind: hf, path: PATH}.");
    }
}

void prompts_say_something(const Resolution& at) {
    const auto& sample = at.run.validate.sample;
    if (sample && sample->prompt.empty()) {
        at.found.error(at.values.location("validate.sample.prompt"), "an empty prompt",
                       "the first token is predicted from it", "Write a few words.");
    }
}

/// Checks that the average exists, and that the weights and it can change places between two steps.
void validated_weights_exist(const Resolution& at) {
    const auto& run = at.run;
    if (!run.validate.every || run.validate.weights == spec::ValidatedWeights::raw) {
        return;
    }
    const auto location = at.values.location("validate.weights");
    if (!run.train.average.is_on()) {
        at.found.error(location, "there is no average to validate", "train.average is off",
                       "Set train.average=ema, or validate.weights=raw.");
    } else if (run.overlap.delayed_update || spec::has_no_flush(run.parallel)) {
        const char* key =
            run.overlap.delayed_update ? "overlap.delayed_update" : "parallel.pipeline.schedule";
        at.found.error(location, "the average cannot be validated in this run",
                       fmt::format("with this {}, parameters differ from the weights between steps", key),
                       fmt::format("Set validate.weights=raw, or change {}; `ziggurat eval --average` "
                                   "measures the average of a checkpoint.",
                                   key));
    }
}

/// Checks that validation losses exist if a key depends on them; otherwise it would wait for ever.
void there_are_validation_losses(const Resolution& at) {
    if (at.run.validate.every) {
        return;
    }
    for (const auto& [key, is_asked] :
         {std::pair{"checkpoint.keep.best", at.run.checkpoint.keep_best > 0},
          std::pair{"train.stop_when.patience", at.run.train.stop_when.patience > 0},
          std::pair{"train.stop_when.validation_loss", at.run.train.stop_when.validation_loss.has_value()}}) {
        if (is_asked) {
            at.found.error(at.values.location(key), fmt::format("{} needs validation losses", key),
                           "validate.every = none", "Set it, for instance to 100 steps.");
        }
    }
}

constexpr std::array rules = {
    Rule{validation_has_data, "validate.every data.validation data.held_out"},
    Rule{validation_data_is_looked_at, "validate.every data.validation data.held_out"},
    Rule{there_are_validation_losses, "validate.every checkpoint.keep.best train.stop_when"},
    Rule{validated_weights_exist,
         "validate.weights train.average overlap.delayed_update parallel.pipeline.schedule"},
    Rule{samples_can_be_read, "validate.sample data.tokenizer.kind"},
    Rule{prompts_say_something, "validate.sample.prompt"},
    Rule{chats_have_an_end, "validate.sample.chat data.tokenizer.kind"},
};

}  // namespace

std::span<const Rule> validate_rules() {
    return rules;
}

}  // namespace ziggurat::deck
