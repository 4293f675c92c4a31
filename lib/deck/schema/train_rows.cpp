#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "train", .doc = "How long and in what portions."},
    {.path = "train.steps", .type = Type::integer, .noun = "steps", .min = 1, .max = most_count,
     .on_resume = warned, .doc = "Optimizer steps; this or train.tokens."},
    {.path = "train.tokens", .type = Type::integer, .noun = "tokens", .min = 1, .max = 1e15,
     .on_resume = warned, .doc = "Tokens to train on, rounded up to whole steps; this or train.steps."},
    {.path = "train.global_batch", .type = Type::integer, .noun = "sequences", .min = 1, .max = most_elements,
     .on_resume = warned, .doc = "Sequences of one optimizer step, over all ranks."},
    {.path = "train.micro_batch", .type = Type::integer, .noun = "sequences", .min = 1, .max = 1 << 20,
     .on_resume = noted,
     .doc = "Sequences that a rank takes forward and backward at once; gradient accumulation follows."},
    {.path = "train.only", .type = Type::texts, .fallback = "all", .words = "all",
     .on_resume = warned,
     .doc = "Patterns of the tensors to train, such as 'layers.*' or '*.bias'; the others are frozen: no gradient, no optimizer state."},

    {.path = "validate", .doc = "Looking at data that is not trained on."},
    {.path = "validate.every", .type = Type::interval, .fallback = "none", .words = "none",
     .on_resume = noted, .doc = "When to validate."},
    {.path = "validate.batches", .type = Type::integer, .fallback = "all", .words = "all", .noun = "batches",
     .min = 1, .max = most_elements,
     .on_resume = noted,
     .doc = "Global batches in one validation, evenly spread over the set; all is the whole set once."},
    {.path = "validate.sample", .doc = "Text generated after each validation."},
    {.path = "validate.sample.prompt", .type = Type::text, .on_resume = noted,
     .doc = "What the text begins with."},
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
