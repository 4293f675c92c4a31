#include <fmt/format.h>

#include <array>

#include "deck/messages/arithmetic.hpp"
#include "deck/rules/rules.hpp"
#include "layout/node_groups.hpp"
#include "spec/batch_limits.hpp"
#include "spec/depths.hpp"
#include "spec/narrow_sums.hpp"

namespace ziggurat::deck {
namespace {

void global_batch_is_made_of_micro_batches(const Resolution& at) {
    const spec::Train& train = at.run.train;
    const std::int64_t at_once = train.micro_batch * at.run.parallel.sequence_groups();
    if (train.global_batch % at_once == 0) {
        return;
    }
    at.found.error(at.values.location("train.global_batch"),
                   fmt::format("train.global_batch = {} cannot be made from this layout", train.global_batch),
                   fmt::format("global_batch = micro_batch {} x {} x accumulation, and {} / {} is not whole",
                               train.micro_batch, layout::describe_sequence_groups(at.run.parallel),
                               train.global_batch, at_once),
                   fmt::format("Use {}.", list_or(nearest_multiples(train.global_batch, at_once))));
}

/// Limits the length of the step program, which lists every operation of every micro-batch.
void a_step_can_be_listed(const Resolution& at) {
    constexpr std::int64_t max = 65536;
    const auto layers = (at.run.model.layers + at.run.parallel.stages - 1) / at.run.parallel.stages;
    const auto passes = layers * at.run.train.micro_batches;
    if (passes > max) {
        at.found.error(
            at.values.location("train.global_batch"),
            fmt::format("{} micro-batches through {} layers in one step", at.run.train.micro_batches, layers),
            fmt::format("a rank passes {} layers, and its step program can list {}", passes, max),
            "Use a larger train.micro_batch, more ranks, or a smaller train.global_batch.");
    }
}

/// Limits the size of a micro-batch.
///
/// Its head is listed by blocks of rows, and all its activations exist at once.
void a_micro_batch_can_be_listed(const Resolution& at) {
    constexpr std::int64_t max = spec::max_micro_batch_tokens;
    const auto seq = at.run.data.seq;
    if (at.run.train.micro_batch > max / seq) {
        at.found.error(
            at.values.location("train.micro_batch"),
            fmt::format("train.micro_batch = {} sequences of {} tokens", at.run.train.micro_batch, seq),
            fmt::format("a micro-batch has {} tokens at most", max),
            "Use a smaller train.micro_batch: each rank takes the number that train.global_batch needs.");
    }
}

/// Limits the number of gradients summed in bf16. Its 8 bits drop addends below 1/512 of the sum.
///
/// Criterion: a relative error of the gradient's norm below 1 %. The worst case among micro-batches of
/// similar size are equal gradients: the n-th sum is then n times the addend. Measured for equal gradients,
/// with tiny models of three families: 0.2 % at up to 32 micro-batches, 0.7 % at 64, 1.0 to 1.4 % at 128;
/// with normally distributed elements 26 % at 512, 63 % at 1024 and 91 % at 4096. Single elements deviate
/// more, in either direction: 3 % at 64. For uncorrelated gradients, sums grow with the square root, and the
/// norm is off by 0.01 % at 64 and 0.4 % at 4096. tests/mpi/narrow_gradients_test.cpp measures at the bound.
///
/// A bound on the count suffices: the sum over ranks is rounded once more, for any count.
void sums_in_bf16_keep_their_norm(const Resolution& at) {
    const auto count = at.run.train.micro_batches;
    if (at.run.precision.gradient == spec::DType::bf16 && count > spec::max_added_in_bf16) {
        at.found.error(
            at.values.location("precision.gradient"),
            fmt::format("{} micro-batches are added up in bf16", count),
            fmt::format("beyond {} the norm of their sum may be off by more than 1%: it has 8 bits, "
                        "so small gradients are lost",
                        spec::max_added_in_bf16),
            "Use precision.gradient: fp32, or a larger train.micro_batch.");
    }
}

/// Rejects the order by layer in a pipeline.
///
/// Stages work at the same time because each micro-batch leaves a stage before the next one enters it. By
/// layer, a stage would pass on its first result after all micro-batches of all its layers but the last, and
/// the stages would run one after another.
void stages_run_by_micro_batch(const Resolution& at) {
    const int stages = at.run.parallel.stages * at.run.parallel.chunks_per_stage;
    if (at.run.train.accumulate == spec::AccumulationOrder::by_layer && stages > 1) {
        at.found.error(
            at.values.location("train.accumulate"),
            fmt::format("train.accumulate: by_layer with {} pipeline stages", stages),
            "a stage would hold all micro-batches before it passes one on, so stages would work one "
            "after another",
            "Use by_micro_batch, or parallel.pipeline: 1.");
    }
}

void there_is_something_to_go_back_to(const Resolution& at) {
    if (at.run.train.spikes.action == spec::SpikeAction::roll_back && !at.run.checkpoint.every) {
        at.found.error(at.values.location("train.spikes.action"), "train.spikes.action = roll_back",
                       "checkpoint.every = none, so there is no checkpoint to return to",
                       "Leave checkpoint.every out, or use skip.");
    }
}

void updates_in_backward_know_their_norm(const Resolution& at) {
    if (at.run.overlap.optimizer_with_backward && at.values.is_keyword("optimizer.clip.policy", "global")) {
        at.found.error(at.values.location("overlap.optimizer_with_backward"),
                       "overlap.optimizer_with_backward = true with optimizer.clip.policy = global",
                       "the norm of the whole gradient is known only after backward",
                       "Use optimizer.clip.policy: speculate, previous_norm, per_unit or off.");
    }
}

void speculation_has_something_to_guess(const Resolution& at) {
    if (at.values.is_keyword("optimizer.clip.policy", "speculate") &&
        !at.run.overlap.optimizer_with_backward) {
        at.found.warning(at.values.location("optimizer.clip.policy"),
                         "optimizer.clip.policy = speculate has no effect beyond that of global",
                         "overlap.optimizer_with_backward is false, so updates begin when the norm is known",
                         "Use global, or set overlap.optimizer_with_backward: true.");
    }
}

void updates_in_backward_skip_no_spike(const Resolution& at) {
    if (at.run.overlap.optimizer_with_backward && !spec::speculates(at.run) &&
        at.run.train.spikes.action == spec::SpikeAction::skip) {
        at.found.error(at.values.location("train.spikes.action"),
                       "train.spikes.action = skip with overlap.optimizer_with_backward = true",
                       "weights are updated before the norm that shows a spike is known",
                       "Use roll_back, or optimizer.clip.policy: speculate.");
    }
}

void delayed_updates_do_not_run_in_backward(const Resolution& at) {
    if (at.run.overlap.delayed_update && at.run.overlap.optimizer_with_backward) {
        at.found.error(
            at.values.location("overlap.delayed_update.enabled"),
            "overlap.delayed_update together with overlap.optimizer_with_backward",
            "an update runs either concurrently with the backward of its own step or with the next step",
            "Set one of them to false.");
    }
}

void delayed_updates_begin_before_the_end(const Resolution& at) {
    const auto& overlap = at.run.overlap;
    if (overlap.delayed_update && overlap.delayed_update_after >= at.run.train.steps) {
        at.found.error(at.values.location("overlap.delayed_update.after"),
                       fmt::format("overlap.delayed_update.after = {} steps with train.steps = {}",
                                   overlap.delayed_update_after, at.run.train.steps),
                       "the run would end before an update is delayed",
                       "Reduce it, or set overlap.delayed_update.enabled: false.");
    }
}

constexpr std::array rules = {
    Rule{global_batch_is_made_of_micro_batches, "train.global_batch train.micro_batch parallel"},
    Rule{a_micro_batch_can_be_listed, "train.micro_batch data.seq"},
    Rule{sums_in_bf16_keep_their_norm, "precision.gradient train.global_batch train.micro_batch parallel"},
    Rule{stages_run_by_micro_batch, "train.accumulate parallel"},
    Rule{there_is_something_to_go_back_to, "train.spikes checkpoint.every"},
    Rule{updates_in_backward_know_their_norm, "overlap optimizer.clip"},
    Rule{delayed_updates_do_not_run_in_backward, "overlap"},
    Rule{delayed_updates_begin_before_the_end, "overlap train.steps"},
    Rule{updates_in_backward_skip_no_spike, "overlap optimizer.clip train.spikes"},
    Rule{speculation_has_something_to_guess, "overlap optimizer.clip"},
    Rule{a_step_can_be_listed, "train.global_batch train.micro_batch parallel model"},
};

}  // namespace

std::span<const Rule> train_rules() {
    return rules;
}

}  // namespace ziggurat::deck
