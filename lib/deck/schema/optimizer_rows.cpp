#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "optimizer", .doc = "The update."},
    {.path = "optimizer.kind", .type = Type::word, .fallback = "adamw", .words = "adamw",
     .on_resume = refused, .doc = "AdamW with decoupled decay."},
    {.path = "optimizer.lr", .type = Type::real, .fallback = "3.0e-4", .min = 0, .max = 1000,
     .on_resume = measured, .doc = "Highest learning rate."},
    {.path = "optimizer.betas", .type = Type::reals, .fallback = "[0.9, 0.95]", .min = 0, .max = 0.999999,
     .on_resume = warned, .from_here = "the moments, which are kept, fade by the new factors", .doc = "Decay of the first and of the second moment."},
    {.path = "optimizer.eps", .type = Type::real, .fallback = "1.0e-8", .min = 1e-30, .max = 1,
     .on_resume = warned, .from_here = "updates are bounded by the new value", .doc = "Added to the root of the second moment."},
    {.path = "optimizer.weight_decay", .type = Type::real, .fallback = "0.1", .min = 0, .max = 100,
     .on_resume = warned, .from_here = "weights decay by the new factor", .doc = "Times the learning rate, each step."},
    {.path = "optimizer.no_decay", .type = Type::texts, .fallback = "[]",
     .on_resume = warned, .from_here = "other tensors decay", .doc = "Patterns of tensors without decay, besides all of one dimension."},
    {.path = "optimizer.clip", .shorthand = "norm", .doc = "A bound on the gradient."},
    {.path = "optimizer.clip.norm", .type = Type::real, .fallback = "1.0", .min = 1e-30, .max = 1e30,
     .on_resume = warned, .from_here = "gradients are clipped at the new norm", .doc = "Largest norm; without a bound, clip: {policy: off}."},
    {.path = "optimizer.clip.policy", .type = Type::word, .fallback = "global",
     .words = "global off speculate previous_norm per_unit",
     .on_resume = warned, .from_here = "gradients are clipped by the new policy", .doc = "global: the norm of the whole gradient of this step. off: none."},
    {.path = "optimizer.clip_norm", .type = Type::alias, .shorthand = "optimizer.clip.norm",
     .doc = "Short for optimizer.clip.norm."},

    {.path = "schedule", .shorthand = "kind", .doc = "The learning rate over the run."},
    {.path = "schedule.kind", .type = Type::word, .fallback = "cosine", .words = "constant linear cosine wsd",
     .on_resume = measured,
     .doc = "The way down after the warm-up; wsd stays at the top and goes down linearly at the end."},
    {.path = "schedule.warmup", .type = Type::training_length, .fallback = "0 steps", .on_resume = measured,
     .doc = "Linear rise from zero."},
    {.path = "schedule.decay", .type = Type::training_length, .fallback = "auto", .words = "auto",
     .on_resume = measured, .doc = "wsd: length of the way down; auto is 20% of the steps."},
    {.path = "schedule.final_fraction", .type = Type::real, .fallback = "0.1", .min = 0, .max = 1,
     .on_resume = measured, .doc = "Learning rate at the end, relative to the highest."},
    {.path = "schedule.when_extended", .type = Type::word, .fallback = "rescale", .words = "rescale restart hold",
     .on_resume = measured,
     .doc = "For a run that goes on with another train.steps or train.tokens than its checkpoint had. rescale: the schedule ends"
            " with the run, so the learning rate may jump. restart: a schedule of its own, warm-up and all, from there to the"
            " new end. hold: the schedule ends where it would have ended, and its last learning rate stays."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> optimizer_rows() {
    return rows;
}

}  // namespace ziggurat::deck
