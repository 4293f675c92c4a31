#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "train", .doc = "How long and in what portions."},
    {.path = "train.steps", .type = Type::integer, .noun = "steps", .min = 1, .max = most_count,
     .on_resume = measured, .doc = "Optimizer steps; this or train.tokens."},
    {.path = "train.tokens", .type = Type::integer, .noun = "tokens", .min = 1, .max = 1e15,
     .on_resume = measured, .doc = "Tokens to train on, rounded up to whole steps; this or train.steps."},
    {.path = "train.global_batch", .type = Type::integer, .noun = "sequences", .min = 1, .max = most_elements,
     .on_resume = measured, .doc = "Sequences of one optimizer step, over all ranks."},
    {.path = "train.micro_batch", .type = Type::integer, .noun = "sequences", .min = 1, .max = 1 << 20,
     .on_resume = noted,
     .doc = "Sequences that a rank takes forward and backward at once; gradient accumulation follows."},
    {.path = "train.only", .type = Type::texts, .fallback = "all", .words = "all",
     .on_resume = warned, .from_here = "other tensors are trained; moments begin at zero where there were none",
     .doc = "Patterns of the tensors to train, such as 'layers.*' or '*.bias'; the others are frozen: no gradient, no optimizer state."},

    {.path = "train.lora", .shorthand = "rank",
     .doc = "Adapters of low rank beside weights of products, which train in their place (LoRA): y = x (W + alpha / rank B A)^T. "
            "All other tensors are frozen."},
    {.path = "train.lora.rank", .type = Type::integer, .noun = "rows", .min = 1, .max = 1 << 16,
     .on_resume = refused, .doc = "Rows of A and columns of B."},
    {.path = "train.lora.alpha", .type = Type::real, .fallback = "auto", .words = "auto", .min = 1e-6, .max = 1e6,
     .on_resume = warned, .from_here = "what the adapters have learned counts by the new factor, so the loss may jump", .doc = "Over the rank, the factor of what adapters add; auto is twice the rank."},
    {.path = "train.lora.targets", .type = Type::texts, .fallback = "[attention.q, attention.v]",
     .on_resume = refused,
     .doc = "Patterns of the weights that get an adapter, such as attention.q or mlp.*, alike in all layers."},

    {.path = "train.spikes", .shorthand = "action", .doc = "Steps whose loss or gradient norm lies far above those before."},
    {.path = "train.spikes.action", .type = Type::word, .fallback = "off", .words = "off warn skip roll_back",
     .on_resume = warned, .from_here = "spikes are treated by the new word",
     .doc = "warn tells of a spike; skip also leaves its update out; roll_back also goes back to the newest checkpoint, "
            "and on with the samples behind those of the spike. All ranks decide alike."},
    {.path = "train.spikes.window", .type = Type::integer, .fallback = "128", .noun = "steps", .min = 4, .max = 4096,
     .on_resume = warned, .from_here = "other steps count as spikes", .doc = "Steps before, without spikes, that a step is judged by; there have to be so many."},
    {.path = "train.spikes.z", .type = Type::real, .fallback = "6", .min = 1, .max = 1000, .on_resume = warned, .from_here = "other steps count as spikes",
     .doc = "A spike lies more than so many standard deviations above their mean."},

    {.path = "train.stop_when", .doc = "Early stopping, by the loss of validations (validate.every). The run then is finished."},
    {.path = "train.stop_when.patience", .type = Type::integer, .fallback = "none", .words = "none", .noun = "validations",
     .min = 1, .max = 1e6, .on_resume = noted,
     .doc = "The run ends after so many validations in a row without a better loss than the best before them."},
    {.path = "train.stop_when.min_delta", .type = Type::real, .fallback = "0", .min = 0, .max = 1e6, .on_resume = noted,
     .doc = "A loss is better that is lower by more than this, in nats per token."},
    {.path = "train.stop_when.validation_loss", .type = Type::real, .fallback = "none", .words = "none", .min = 0, .max = 1e6,
     .on_resume = noted, .doc = "The run ends after a validation with at most this loss, in nats per token."},

    {.path = "validate", .shorthand = "every", .doc = "Looking at data that is not trained on."},
    {.path = "validate.every", .type = Type::interval, .fallback = "none", .words = "none",
     .on_resume = noted, .doc = "When to validate."},
    {.path = "validate.batches", .type = Type::integer, .fallback = "all", .words = "all", .noun = "batches",
     .min = 1, .max = most_elements,
     .on_resume = noted,
     .doc = "Global batches in one validation, evenly spread over the set; all is the whole set once."},
    {.path = "validate.sample", .doc = "Text generated after each validation."},
    {.path = "validate.sample.prompt", .type = Type::text, .on_resume = noted,
     .doc = "What the text begins with.",
     .is_name_or_place = true},
    {.path = "validate.sample.tokens", .type = Type::integer, .fallback = "200", .noun = "tokens", .min = 1,
     .max = 1 << 20, .on_resume = noted,
     .doc = "Tokens to generate."},
    {.path = "validate.sample.temperature", .type = Type::real, .fallback = "0.8", .min = 0, .max = 100,
     .on_resume = noted, .doc = "Divides the logits; 0 takes the most likely token."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> train_rows() {
    return rows;
}

}  // namespace ziggurat::deck
