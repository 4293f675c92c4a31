/// Rules of pipelines without a flush between steps (parallel.pipeline.schedule: pipedream).
#include <fmt/format.h>

#include <array>

#include "deck/rules/rules.hpp"
#include "deck/values/reader.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* with_schedule = "with parallel.pipeline.schedule = pipedream";

/// Reports a key whose value needs all stages at the same step.
void refuse(
    const Resolution& at, const char* key, const char* value, const char* reason, const std::string& advice) {
    at.found.error(at.values.location(key), fmt::format("{} = {} {}", key, value, with_schedule), reason,
                   advice);
}

void stages_clip_without_the_whole_norm(const Resolution& at) {
    if (spec::has_no_flush(at.run.parallel) && at.run.optimizer.clip == spec::ClipPolicy::global) {
        const bool speculates = at.values.is_keyword("optimizer.clip.policy", "speculate");
        refuse(at, "optimizer.clip.policy", speculates ? "speculate" : "global",
               "stages update their weights before the norm of the whole gradient is known",
               "Use optimizer.clip.policy: previous_norm, per_unit or off.");
    }
}

void stages_skip_no_spike(const Resolution& at) {
    const auto action = at.run.train.spikes.action;
    if (spec::has_no_flush(at.run.parallel) &&
        (action == spec::SpikeAction::skip || action == spec::SpikeAction::roll_back)) {
        refuse(at, "train.spikes.action", action == spec::SpikeAction::skip ? "skip" : "roll_back",
               "a spike is known some steps after the stages have updated their weights", "Use warn or off.");
    }
}

void stages_share_no_table(const Resolution& at) {
    if (spec::has_no_flush(at.run.parallel) && at.run.model.tie_embeddings) {
        refuse(
            at, "model.tie_embeddings", "true",
            "the first and the last stage would add the gradients of their table in each step, and so wait "
            "for each other",
            "Set model.tie_embeddings: false.");
    }
}

void stages_update_at_the_end_of_a_step(const Resolution& at) {
    if (!spec::has_no_flush(at.run.parallel)) {
        return;
    }
    constexpr const char* reason = "stages with older versions of weights update at the end of their steps";
    if (at.run.overlap.optimizer_with_backward) {
        refuse(at, "overlap.optimizer_with_backward", "true", reason, "Set it to false.");
    }
    if (at.run.overlap.delayed_update) {
        refuse(at, "overlap.delayed_update.enabled", "true", reason, "Set it to false.");
    }
}

void gathered_parameters_serve_one_version(const Resolution& at) {
    if (!spec::has_no_flush(at.run.parallel) || at.run.sharding.parameters == 1) {
        return;
    }
    if (at.run.sharding.leases == spec::LeaseSpan::step) {
        refuse(at, "sharding.leases", "step",
               "backward reads older versions of the weights than forward of the same step", "Use pass.");
    }
    if (at.run.sharding.secondary > 0) {
        refuse(at, "sharding.secondary", fmt::format("{}", at.run.sharding.secondary).c_str(),
               "backward gathers older versions of the weights, not the copy that forward has left",
               "Use none.");
    }
}

void validations_are_known_in_advance(const Resolution& at) {
    const auto& every = at.run.validate.every;
    if (spec::has_no_flush(at.run.parallel) && every && every->seconds > 0) {
        at.found.error(at.values.location("validate.every"),
                       fmt::format("validate.every in seconds {}", with_schedule),
                       "the pipeline is drained before a validation, so stages have to know its step",
                       "Use steps or tokens.");
    }
}

constexpr std::array rules = {
    Rule{stages_clip_without_the_whole_norm, "parallel optimizer.clip"},
    Rule{stages_skip_no_spike, "parallel train.spikes"},
    Rule{stages_share_no_table, "parallel model"},
    Rule{stages_update_at_the_end_of_a_step, "parallel overlap"},
    Rule{gathered_parameters_serve_one_version, "parallel sharding"},
    Rule{validations_are_known_in_advance, "parallel validate.every"},
};

}  // namespace

std::span<const Rule> no_flush_rules() {
    return rules;
}

}  // namespace ziggurat::deck
