#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "train", .doc = "Length and batch sizes of the training."},
    {.path = "train.steps", .type = Type::integer, .noun = "steps", .min = 1, .max = max_count,
     .on_resume = measured, .doc = "Optimizer steps; this or train.tokens."},
    {.path = "train.tokens", .type = Type::integer, .noun = "tokens", .min = 1, .max = 1e15,
     .on_resume = measured, .doc = "Tokens to train on, rounded up to whole steps; this or train.steps."},
    {.path = "train.global_batch", .type = Type::integer, .noun = "sequences", .min = 1, .max = max_elements,
     .on_resume = measured, .doc = "Sequences per optimizer step, over all ranks."},
    {.path = "train.micro_batch", .type = Type::integer, .keywords = "auto", .noun = "sequences", .min = 1,
     .max = 1 << 20, .on_resume = noted,
     .doc = "Sequences per rank in one forward and backward pass; determines gradient accumulation; auto: as "
            "in the fastest layout that fits."},
    {.path = "train.accumulate", .type = Type::keyword, .fallback = "by_micro_batch",
     .keywords = "by_micro_batch by_layer auto", .on_resume = noted,
     .doc = "Order of a step's micro-batches. by_micro_batch: all layers of one, then the next one. by_layer: all "
            "micro-batches of a layer, then the next layer, so that parameters are read and gathered 2 times a step "
            "instead of 2 times per micro-batch; activations of all micro-batches exist at the same time. auto: the "
            "order with the shorter planned step."},
    {.path = "train.only", .type = Type::texts, .fallback = "all", .keywords = "all",
     .on_resume = warned, .from_here = "other tensors are trained; new moments start at zero",
     .doc = "Patterns of the tensors to train, such as 'layers.*' or '*.bias'; all others are frozen: no "
            "gradient, no optimizer state."},

    {.path = "train.lora", .shorthand = "rank",
     .doc = "Low-rank adapters of weights, trained instead of them (LoRA): y = x (W + alpha / rank B A)^T. "
            "All other tensors are frozen."},
    {.path = "train.lora.rank", .type = Type::integer, .noun = "rows", .min = 1, .max = 1 << 16,
     .on_resume = refused, .doc = "Rows of A and columns of B."},
    {.path = "train.lora.alpha", .type = Type::real, .fallback = "auto", .keywords = "auto", .min = 1e-6, .max = 1e6,
     .on_resume = warned, .from_here = "the adapters are scaled by the new factor, so the loss may jump",
     .doc = "alpha / rank is the factor of the adapters' output; auto is twice the rank."},
    {.path = "train.lora.targets", .type = Type::texts, .fallback = "[attention.q, attention.v]",
     .on_resume = refused,
     .doc = "Patterns of the weights that get an adapter, such as attention.q or mlp.*, the same in all "
            "layers."},

    {.path = "train.objective", .shorthand = "kind",
     .doc = "Loss that training minimizes. dpo and ipo train on pairs of answers (decks/DATA.md), of which one is "
            "preferred, and compare the model with a reference model."},
    {.path = "train.objective.kind", .type = Type::keyword, .fallback = "next_token", .keywords = "next_token dpo ipo",
     .on_resume = warned, .from_here = "the loss has another meaning",
     .doc = "next_token: cross-entropy of the next token. dpo: -log sigmoid(beta * margin), where the margin is the "
            "gain of log-probability of the chosen answer over the reference, minus that of the rejected one. ipo: "
            "(margin - 1 / (2 beta))^2 with log-probabilities per token."},
    {.path = "train.objective.beta", .type = Type::real, .fallback = "0.1", .min = 1e-6, .max = 1e6,
     .on_resume = warned, .from_here = "the loss has another scale",
     .doc = "Strength with which the model is kept close to the reference."},
    {.path = "train.objective.label_smoothing", .type = Type::real, .fallback = "0", .min = 0, .max = 0.49,
     .on_resume = warned, .from_here = "the loss has another meaning",
     .doc = "dpo: assumed share of pairs whose answers are swapped."},
    {.path = "train.objective.reference", .type = Type::text, .fallback = "start", .keywords = "start adapters_off",
     .on_resume = warned, .from_here = "the loss is relative to another model",
     .doc = "Reference model: start is the model with its initial weights, adapters_off the same without adapters "
            "(train.lora); otherwise the path of a checkpoint, a run or a Hugging Face model. Its log-probabilities "
            "are computed before the first step and kept in run.dir.",
     .is_name_or_place = true},

    {.path = "train.spikes", .shorthand = "action",
     .doc = "Steps whose loss or gradient norm is far above those of preceding steps."},
    {.path = "train.spikes.action", .type = Type::keyword, .fallback = "off", .keywords = "off warn skip roll_back",
     .on_resume = warned, .from_here = "spikes are handled by the new action",
     .doc = "warn prints a warning; skip also skips the update; roll_back also returns to the newest "
            "checkpoint and continues with the samples after the spike. All ranks make the same decision."},
    {.path = "train.spikes.window", .type = Type::integer, .fallback = "128", .noun = "steps", .min = 4, .max = 4096,
     .on_resume = warned, .from_here = "other steps count as spikes",
     .doc = "Preceding steps without spikes to which a step is compared; detection starts after this "
            "number of steps."},
    {.path = "train.spikes.z", .type = Type::real, .fallback = "6", .min = 1, .max = 1000,
     .on_resume = warned, .from_here = "other steps count as spikes",
     .doc = "Threshold of a spike, in standard deviations above the mean of those steps."},

    {.path = "train.average", .shorthand = "kind",
     .doc = "An average of the weights over the steps, a state of its own. export, eval and sample take it with "
            "--average."},
    {.path = "train.average.kind", .type = Type::keyword, .fallback = "none", .keywords = "none ema",
     .on_resume = warned, .from_here = "an average that the checkpoint does not have begins as a copy of the weights",
     .doc = "ema: after each update, average = decay * average + (1 - decay) * weights, in float32."},
    {.path = "train.average.decay", .type = Type::real, .fallback = "0.999", .min = 0.01, .max = 0.9999999,
     .on_resume = warned, .from_here = "the average has another decay",
     .doc = "Factor of the previous average."},
    {.path = "train.average.from", .type = Type::training_length, .fallback = "0 steps",
     .on_resume = warned, .from_here = "the average begins at another step",
     .doc = "Length of training up to which the average is a copy of the weights."},

    {.path = "train.stop_when",
     .doc = "Early stopping by the validation loss (validate.every). The run then counts as finished."},
    {.path = "train.stop_when.patience", .type = Type::integer, .fallback = "none", .keywords = "none", .noun = "validations",
     .min = 1, .max = 1e6, .on_resume = noted,
     .doc = "The run ends after this number of consecutive validations without a better loss."},
    {.path = "train.stop_when.min_delta", .type = Type::real, .fallback = "0", .min = 0, .max = 1e6, .on_resume = noted,
     .doc = "Minimum decrease that counts as a better loss, in nats per token; of a preference objective, in its loss per pair."},
    {.path = "train.stop_when.validation_loss", .type = Type::real, .fallback = "none", .keywords = "none", .min = 0, .max = 1e6,
     .on_resume = noted,
     .doc = "The run ends after a validation with at most this loss, in nats per token; of a preference objective, per pair."},

    {.path = "validate", .shorthand = "every", .doc = "Validation on data that is not trained on."},
    {.path = "validate.every", .type = Type::interval, .fallback = "none", .keywords = "none",
     .on_resume = noted, .doc = "When to validate."},
    {.path = "validate.batches", .type = Type::integer, .fallback = "all", .keywords = "all", .noun = "batches",
     .min = 1, .max = max_elements,
     .on_resume = noted,
     .doc = "Global batches per validation, evenly spaced over the set; all is the whole set once."},
    {.path = "validate.weights", .type = Type::keyword, .fallback = "raw", .keywords = "raw average both",
     .on_resume = noted,
     .doc = "Weights that are validated: those of the last step, their average (train.average), or both, one after "
            "the other. With average and both, checkpoint.keep.best and train.stop_when follow the average."},
    {.path = "validate.sample", .doc = "Text generated after each validation."},
    {.path = "validate.sample.prompt", .type = Type::text, .on_resume = noted,
     .doc = "Beginning of the text.",
     .is_name_or_place = true},
    {.path = "validate.sample.tokens", .type = Type::integer, .fallback = "200", .noun = "tokens", .min = 1,
     .max = 1 << 20, .on_resume = noted,
     .doc = "Tokens to generate."},
    {.path = "validate.sample.temperature", .type = Type::real, .fallback = "0.8", .min = 0, .max = 100,
     .on_resume = noted, .doc = "Divisor of the logits; 0 selects the most likely token."},
    {.path = "validate.sample.chat", .type = Type::boolean, .fallback = "false", .on_resume = noted,
     .doc = "The prompt is a user's message, which the chat template renders; needs python3 with jinja2."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> train_rows() {
    return rows;
}

}  // namespace ziggurat::deck
