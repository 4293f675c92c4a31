#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "deck/rules/rules.hpp"
#include "deck/values/reader.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/rope_scalings.hpp"
#include "layout/tensors.hpp"
#include "spec/depths.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::deck {
namespace {

/// Returns true if the key is set and not to its default, which effective decks always contain.
bool differs(const Resolution& at, const char* key) {
    const DeckValue* value = at.values.find(key);
    if (value == nullptr || !at.values.is_written(key)) {
        return false;
    }
    const Row& row = *deck_schema().find(key);
    const DeckValue fallback = value_of(row, row.fallback);
    return value->keyword != fallback.keyword || value->data != fallback.data;
}

bool saves_nothing(const Resolution& at) {
    return !at.run.checkpoint.every;
}

bool saves_by_time_alone(const Resolution& at) {
    const auto& every = at.run.checkpoint.every;
    return every && every->steps == 0;
}

bool validates_nothing(const Resolution& at) {
    return !at.run.validate.every;
}

bool goes_down_all_along(const Resolution& at) {
    // Effective decks have 0 steps here.
    const bool has_length = at.values.as<TrainingLength>("schedule.decay") != TrainingLength{};
    return has_length && at.run.schedule.kind != spec::ScheduleKind::warmup_stable_decay;
}

bool is_constant(const Resolution& at) {
    return at.run.schedule.kind == spec::ScheduleKind::constant;
}

bool clips_nothing(const Resolution& at) {
    return at.run.optimizer.clip == spec::ClipPolicy::off;
}

bool has_no_decay(const Resolution& at) {
    return at.run.optimizer.weight_decay == 0;
}

bool begins_with_given_weights(const Resolution& at) {
    return !at.values.is_keyword("model.init.from", "random");
}

bool begins_with_random_weights(const Resolution& at) {
    return at.values.is_keyword("model.init.from", "random");
}

bool looks_for_no_spikes(const Resolution& at) {
    return at.run.train.spikes.action == spec::SpikeAction::off;
}

bool compares_no_answers(const Resolution& at) {
    return !at.run.train.objective.has_pairs();
}

bool assumes_no_swaps(const Resolution& at) {
    return at.run.train.objective.kind != spec::ObjectiveKind::dpo;
}

bool averages_nothing(const Resolution& at) {
    return !at.run.train.average.is_on();
}

bool stops_by_no_patience(const Resolution& at) {
    return at.run.train.stop_when.patience == 0;
}

/// Returns true if the deck asks for by_layer, and a step has one micro-batch.
bool has_one_microbatch(const Resolution& at) {
    return at.values.is_keyword("train.accumulate", "by_layer") && at.run.train.micro_batches == 1;
}

bool has_one_source(const Resolution& at) {
    return at.run.data.train.size() == 1;
}

bool packs_no_samples(const Resolution& at) {
    return at.run.data.packing == spec::SamplePacking::wrapped;
}

bool joins_documents(const Resolution& at) {
    return !at.run.data.reset_at_document && at.run.data.document_token >= 0;
}

bool has_no_tokenizer_file(const Resolution& at) {
    return !at.run.data.tokenizer.has_file();
}

bool resumes_never(const Resolution& at) {
    return at.run.run.resume == spec::Resume::never;
}

bool computes_on_the_host(const Resolution& at) {
    return at.run.tiers.device != spec::DeviceKind::cuda;
}

bool computes_attention_in_one_order(const Resolution& at) {
    const auto& model = at.run.model;
    return !computes_on_the_host(at) && (at.run.precision.compute != spec::DType::bf16 || model.dropout > 0 ||
                                         model.softcap.attention > 0 || at.run.data.reset_at_document);
}

bool fuses_no_products(const Resolution& at) {
    return !computes_on_the_host(at) && at.run.precision.products == spec::ProductChoice::fused &&
           (at.run.precision.compute != spec::DType::bf16 || at.run.parallel.has_grid());
}

bool has_one_stage(const Resolution& at) {
    return at.run.parallel.stages == 1;
}

bool has_one_tensor_rank(const Resolution& at) {
    return at.run.parallel.tensor == 1;
}

bool has_one_axis(const Resolution& at) {
    const auto& parallel = at.run.parallel;
    return parallel.tensor == 1 && parallel.context == 1 && parallel.stages == 1;
}

/// Returns true if the deck does not shard parameters.
///
/// Independent of the number of ranks: a deck that shards parameters but runs on a single rank is not a
/// mistake.
bool keeps_parameters_whole(const Resolution& at) {
    const auto& values = at.values;
    if (at.run.parallel.has_cube()) {
        return false;
    }
    return at.run.sharding.is_by_span ? at.run.sharding.parameters == 1 &&
                                            (at.run.parallel.data > 1 || !values.has("sharding.parameters"))
                                      : values.integer("sharding.zero") < 3;
}

/// Effective decks have `pass` here.
bool keeps_for_a_step_what_is_whole(const Resolution& at) {
    return at.values.is_keyword("sharding.leases", "step") && keeps_parameters_whole(at);
}

bool moves_and_gathers_nothing(const Resolution& at) {
    return keeps_parameters_whole(at) && !spec::is_any_state_away(at.run) && !spec::has_auto_home(at.run) &&
           !at.run.tiers.open.tiles;
}

/// A key without effect under a condition.
struct Idle {
    const char* key;
    bool (*is_idle)(const Resolution&);
    const char* reason;
    const char* advice;
    const char* needs;  ///< keys that the condition depends on, separated by spaces
};

constexpr std::array idle_keys = {
    Idle{"run.accept_data_change", resumes_never, "run.resume is never", "Remove it, or use resume: auto.",
         "run.resume"},
    Idle{"model.init_std", begins_with_given_weights, "all weights are those of model.init.path",
         "Remove it.", "model.init"},
    Idle{"model.init.accept_change", begins_with_random_weights, "model.init.from is random",
         "Remove it, or start with weights that exist.", "model.init"},
    Idle{"train.accumulate", has_one_microbatch, "a step has one micro-batch",
         "Remove it, or use a smaller train.micro_batch.",
         "train.accumulate train.global_batch train.micro_batch parallel"},
    Idle{"train.spikes.window", looks_for_no_spikes, "train.spikes.action is off",
         "Remove it, or set the action.", "train.spikes"},
    Idle{"train.spikes.z", looks_for_no_spikes, "train.spikes.action is off", "Remove it, or set the action.",
         "train.spikes"},
    Idle{"train.objective.beta", compares_no_answers, "train.objective.kind is next_token",
         "Remove it, or use kind: dpo.", "train.objective"},
    Idle{"train.objective.label_smoothing", assumes_no_swaps, "train.objective.kind is not dpo",
         "Remove it, or use kind: dpo.", "train.objective"},
    Idle{"train.objective.reference", compares_no_answers, "train.objective.kind is next_token",
         "Remove it, or use kind: dpo.", "train.objective"},
    Idle{"train.average.decay", averages_nothing, "train.average is off", "Remove it, or use kind: ema.",
         "train.average"},
    Idle{"train.average.from", averages_nothing, "train.average is off", "Remove it, or use kind: ema.",
         "train.average"},
    Idle{"train.stop_when.min_delta", stops_by_no_patience, "train.stop_when.patience = none",
         "Remove it, or set the patience, for instance to 3.", "train.stop_when"},
    Idle{"data.tokenizer.path", has_no_tokenizer_file, "data.tokenizer.kind has no file",
         "Remove it, or use kind: hf.", "data.tokenizer"},
    Idle{"data.tokenizer.hash", has_no_tokenizer_file, "data.tokenizer.kind has no file", "Remove it.",
         "data.tokenizer"},
    Idle{"data.long_samples", packs_no_samples, "no chat source is packed",
         "Remove it, or use data.packing: best_fit.", "data.packing"},
    Idle{"data.document_token", joins_documents, "data.reset_at_document is false",
         "Remove it, or reset at documents.", "data.reset_at_document"},
    Idle{"validate.batches", validates_nothing, "validate.every = none",
         "Remove it, or set validate.every, for instance to 100 steps.", "validate.every"},
    Idle{"validate.weights", validates_nothing, "validate.every = none",
         "Remove it, or set validate.every, for instance to 100 steps.", "validate.every"},
    Idle{"parallel.pipeline.schedule", has_one_stage, "there is one stage", "Remove it.", "parallel"},
    Idle{"parallel.order", has_one_axis, "only data ranks divide the work", "Remove it.", "parallel"},
    Idle{"debug.throttle.tensor", has_one_tensor_rank, "there is one tensor rank", "Remove it.",
         "parallel debug.throttle"},
    Idle{"sharding.secondary", keeps_parameters_whole, "parameters are not sharded",
         "Remove it, or use sharding.zero: 3.", "sharding parallel"},
    Idle{"sharding.leases", keeps_for_a_step_what_is_whole, "parameters are not sharded",
         "Remove it, or use sharding.zero: 3.", "sharding parallel"},
    Idle{"precision.products", computes_on_the_host, "the host's cores compute",
         "Remove it, or compute on a GPU.", "tiers"},
    Idle{"precision.products", fuses_no_products,
         "cuDNN fuses products of bf16 that are not blocks of a grid of tensor ranks",
         "Remove it, or use precision.compute: bf16 without parallel.tensor_mode 2d or 3d.",
         "precision parallel"},
    Idle{"precision.attention_backward", computes_on_the_host, "the host's cores compute",
         "Remove it, or compute on a GPU.", "tiers"},
    Idle{"precision.attention_backward", computes_attention_in_one_order,
         "Ziggurat's kernels compute attention, always in one order",
         "Remove it, or use precision.compute: bf16, model.dropout: 0, model.softcap.attention: none and "
         "data.reset_at_document: false.",
         "precision data model"},
    Idle{"optimizer.no_decay", has_no_decay, "optimizer.weight_decay is 0", "Remove it.",
         "optimizer.weight_decay"},
    Idle{"optimizer.clip.norm", clips_nothing, "the policy is off", "Remove it, or use policy: global.",
         "optimizer.clip"},
    Idle{"schedule.decay", goes_down_all_along, "only wsd has a decay of its own length",
         "Remove it, or use kind: wsd.", "schedule"},
    Idle{"schedule.final_fraction", is_constant, "the schedule is constant",
         "Remove it, or choose another kind.", "schedule"},
    Idle{"checkpoint.keep.last", saves_nothing, "checkpoint.every = none",
         "Remove it, or leave checkpoint.every out.", "checkpoint.every"},
    Idle{"checkpoint.keep.milestones", saves_nothing, "checkpoint.every = none",
         "Remove it, or leave checkpoint.every out.", "checkpoint.every"},
    Idle{"checkpoint.keep.milestones", saves_by_time_alone, "saves by time rarely fall on such a multiple",
         "Add steps that divide it to checkpoint.every.", "checkpoint.every"},
    Idle{"checkpoint.keep.best", saves_nothing, "checkpoint.every = none",
         "Remove it, or leave checkpoint.every out.", "checkpoint.every"},
    Idle{"checkpoint.async", saves_nothing, "checkpoint.every = none",
         "Remove it, or leave checkpoint.every out.", "checkpoint.every"},
};

/// Warns at `key`, except at a location with an error: the value will change anyway.
void warn(const Resolution& at, const std::string& key, const char* reason, const char* advice) {
    const SourceLocation location = at.values.location(key);
    const auto problems = at.found.sorted();
    if (std::none_of(problems.begin(), problems.end(), [&](const Problem& problem) {
            return problem.severity == Severity::error && problem.at == location;
        })) {
        at.found.warning(location, fmt::format("{} has no effect", key), reason, advice);
    }
}

void keys_do_something(const Resolution& at) {
    for (const auto& [key, is_idle, reason, advice, needs] : idle_keys) {
        const auto needed = split_words(needs);
        const bool can_tell = std::none_of(needed.begin(), needed.end(), [&](std::string_view other) {
            return at.values.has_bad(std::string{other});
        });
        if (can_tell && differs(at, key) && is_idle(at)) {
            warn(at, key, reason, advice);
        }
    }
}

void scaling_keys_are_those_of_the_kind(const Resolution& at) {
    if (!layout::family_of(at.run.model).has_rotary_positions()) {
        return;  // then the kind is an error
    }
    const auto kind = at.run.model.rope_scaling.kind;
    for (const Row* row : deck_schema().children("model.rope_scaling")) {
        if (!layout::uses_key(kind, leaf_of(row->path)) && differs(at, row->path)) {
            warn(at, row->path,
                 kind == spec::RopeScalingKind::none ? "model.rope_scaling.kind = none"
                                                     : "model.rope_scaling.kind does not use it",
                 "Remove it, or set the kind.");
        }
    }
}

void samples_follow_validations(const Resolution& at) {
    if (!at.run.validate.every && at.values.is_written("validate.sample.prompt")) {
        warn(at, "validate.sample", "samples follow validations, and validate.every = none",
             "Set that, for instance to 100 steps, or remove the sample.");
    }
}

void weights_of_sources_divide_something(const Resolution& at) {
    constexpr const char* key = "data.train[0].weight";
    if (has_one_source(at) && at.values.is_written(key) &&
        (at.run.data.train[0].weight != 1 || !at.run.data.train[0].weight_changes.empty())) {
        warn(at, key, "there is one source", "Remove it.");
    }
}

/// Warns about prefetching without effect. `auto` becomes 1 then, which effective decks contain.
void prefetch_fetches_something(const Resolution& at) {
    constexpr const char* key = "overlap.prefetch";
    if (at.values.is_written(key) && at.values.integer(key) != 1 && !at.is_auto(key) &&
        moves_and_gathers_nothing(at)) {
        warn(at, key, "all state is at home on the device, and parameters are not sharded",
             "Remove it, or use sharding.zero: 3 or a key of tiers.home.");
    }
}

bool is_of_one_dimension(std::string_view tensor) {
    return tensor.ends_with(".bias") || tensor.ends_with(".gain");
}

void patterns_take_decay_away(const Resolution& at) {
    const auto tensors = layout::tensors(at.run.model);
    for (const auto& pattern : at.run.optimizer.no_decay) {
        bool fits = false;
        bool has_decay = false;
        for (const auto& tensor : tensors) {
            const bool is_meant = spec::matches(pattern, tensor.name);
            fits = fits || is_meant;
            has_decay = has_decay || (is_meant && !is_of_one_dimension(tensor.name));
        }
        if (fits && !has_decay && at.run.optimizer.weight_decay != 0) {
            at.found.warning(at.values.location("optimizer.no_decay"),
                             fmt::format("optimizer.no_decay: {} has no effect", in_quotes(pattern)),
                             "it matches only tensors of one dimension, which never have decay",
                             "Remove it.");
        }
    }
}

void tiles_cut_something(const Resolution& at) {
    for (std::size_t i = 0; i < at.run.tiers.tiles.size(); ++i) {
        const auto& rule = at.run.tiers.tiles[i];
        // The first matching rule applies: a rule without tiles may exclude tensors from a later rule.
        const bool is_last = i + 1 == at.run.tiers.tiles.size();
        if (rule.in == 1 && rule.out == 1 && is_last) {
            warn(at, fmt::format("tiers.tile[{}]", i), "in and out are 1, so no tensor is split",
                 "Set the number of tiles, such as out: 4, or remove it.");
        }
    }
}

void sequence_tiles_save_memory(const Resolution& at) {
    const spec::RunSpec& run = at.run;
    if (run.tiers.sequence_tiles > 1 && run.recompute.kind == spec::RecomputeKind::none &&
        run.recompute.fates.empty() && !spec::has_auto_recomputation(run)) {
        warn(at, "tiers.sequence_tiles", "all inner values of MLPs are saved for backward",
             "Set recompute.kind: full, or the fates of these values to recompute, or remove it.");
    }
}

constexpr std::array rules = {
    Rule{keys_do_something, ""},
    Rule{scaling_keys_are_those_of_the_kind, "model.family model.rope_scaling"},
    Rule{samples_follow_validations, "validate"},
    Rule{weights_of_sources_divide_something, "data.train"},
    Rule{prefetch_fetches_something, "overlap.prefetch sharding tiers parallel"},
    Rule{patterns_take_decay_away, "optimizer model"},
    Rule{tiles_cut_something, "tiers.tile"},
    Rule{sequence_tiles_save_memory, "tiers.sequence_tiles recompute"},
};

}  // namespace

std::span<const Rule> effect_rules() {
    return rules;
}

}  // namespace ziggurat::deck
