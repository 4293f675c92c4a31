#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "optimizer", .doc = "The optimizer."},
    {.path = "optimizer.kind", .type = Type::keyword, .fallback = "adamw", .keywords = "adamw",
     .on_resume = refused, .doc = "AdamW with decoupled decay."},
    {.path = "optimizer.lr", .type = Type::real, .fallback = "3.0e-4", .min = 0, .max = 1000,
     .on_resume = measured, .doc = "Maximum learning rate."},
    {.path = "optimizer.betas", .type = Type::reals, .fallback = "[0.9, 0.95]", .min = 0, .max = 0.999999, .items = 2,
     .on_resume = warned, .from_here = "the moments are kept and decay with the new factors",
     .doc = "Decay rates of the first and second moment."},
    {.path = "optimizer.eps", .type = Type::real, .fallback = "1.0e-8", .min = 1e-30, .max = 1,
     .on_resume = warned, .from_here = "updates are bounded by the new value",
     .doc = "Constant added to the root of the second moment."},
    {.path = "optimizer.weight_decay", .type = Type::real, .fallback = "0.1", .min = 0, .max = 100,
     .on_resume = warned, .from_here = "weights decay by the new factor",
     .doc = "Decoupled weight decay; multiplied by the learning rate in each step."},
    {.path = "optimizer.no_decay", .type = Type::texts, .fallback = "[]",
     .on_resume = warned, .from_here = "other tensors decay",
     .doc = "Patterns of tensors without decay; tensors of one dimension never have it."},
    {.path = "optimizer.clip", .shorthand = "norm", .doc = "Gradient clipping."},
    {.path = "optimizer.clip.norm", .type = Type::real, .fallback = "1.0", .min = 1e-30, .max = 1e30,
     .on_resume = warned, .from_here = "gradients are clipped at the new norm",
     .doc = "Maximum norm; to disable clipping, use clip: {policy: off}."},
    {.path = "optimizer.clip.policy", .type = Type::keyword, .fallback = "global",
     .keywords = "global off speculate previous_norm per_unit",
     .on_resume = warned, .from_here = "gradients are clipped by the new policy",
     .doc = "global: by the norm of the whole gradient of this step. previous_norm: by that of the last step "
            "with an update, which is known before backward; the first step is not clipped. speculate, for "
            "overlap.optimizer_with_backward: as global; updates in backward assume that the gradient needs "
            "no clipping, and are undone and repeated if it does. per_unit: the gradient of each unit "
            "(embedding, layer, head) by its own norm of this step, which is known in backward. off: no "
            "clipping."},
    {.path = "optimizer.clip_norm", .type = Type::alias, .shorthand = "optimizer.clip.norm",
     .doc = "Short for optimizer.clip.norm."},

    {.path = "schedule", .shorthand = "kind", .doc = "Learning rate over the run."},
    {.path = "schedule.kind", .type = Type::keyword, .fallback = "cosine", .keywords = "constant linear cosine wsd",
     .on_resume = measured,
     .doc = "Shape of the decay after warm-up; wsd stays at the maximum and decays linearly at the end."},
    {.path = "schedule.warmup", .type = Type::training_length, .fallback = "0 steps", .on_resume = measured,
     .doc = "Linear rise from zero."},
    {.path = "schedule.decay", .type = Type::training_length, .fallback = "auto", .keywords = "auto",
     .on_resume = measured, .doc = "wsd: length of the decay; auto is 20% of the steps."},
    {.path = "schedule.final_fraction", .type = Type::real, .fallback = "0.1", .min = 0, .max = 1,
     .on_resume = measured, .doc = "Learning rate at the end, relative to the maximum."},
    {.path = "schedule.when_extended", .type = Type::keyword, .fallback = "rescale", .keywords = "rescale restart hold",
     .on_resume = measured,
     .doc = "For a run that resumes with another train.steps or train.tokens. rescale: the schedule ends "
            "with the run, so the learning rate may jump. restart: a new schedule, including warm-up, "
            "covers the steps up to the new end. hold: the schedule ends as originally planned, and its "
            "last learning rate is kept."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> optimizer_rows() {
    return rows;
}

}  // namespace ziggurat::deck
