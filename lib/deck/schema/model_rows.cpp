#include "deck/schema/deck_rows.hpp"
#include "deck/schema/family_texts.hpp"

namespace ziggurat::deck {

using enum OnResume;

/// Made at the first use: some words and sentences are those of the families of models.
std::span<const Row> model_rows() {
    // clang-format off
    static const Row rows[] = {
    {.path = "model", .shorthand = "preset", .doc = "The model. With a preset, any key here overrides it."},
    {.path = "model.preset", .type = Type::word,
     .words = family_texts().presets.c_str(),
     .on_resume = noted, .doc = "A published shape that fills the keys of `model`."},
    {.path = "model.family", .type = Type::word, .words = family_texts().names.c_str(),
     .on_resume = refused, .doc = family_texts().families.c_str()},
    {.path = "model.layers", .type = Type::integer, .noun = "layers", .min = 1, .max = 10000,
     .on_resume = refused, .doc = "Decoder layers."},
    {.path = "model.hidden", .type = Type::integer, .min = 1, .max = 1 << 17,
     .on_resume = refused, .doc = "Width of the residual stream."},
    {.path = "model.heads", .type = Type::integer, .min = 1, .max = 1 << 16, .on_resume = refused,
     .doc = "Attention heads."},
    {.path = "model.kv_heads", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1, .max = 1 << 16,
     .on_resume = refused, .doc = "Heads of keys and values; auto is one per head."},
    {.path = "model.ffn_hidden", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1,
     .max = most_elements,
     .on_resume = refused, .doc = family_texts().ffn_hidden.c_str()},
    {.path = "model.vocab", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 2,
     .max = most_elements, .on_resume = refused,
     .doc = "Tokens in the vocabulary; auto is 256 for bytes."},
    {.path = "model.vocab_pad_to", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1,
     .max = 1 << 27, .on_resume = noted,
     .doc = "The embedding gets rows up to a multiple of this; they are zero and never trained; auto is the least "
            "multiple of 128 and the tensor degree."},
    {.path = "model.max_seq", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1,
     .max = most_elements, .on_resume = refused_if_learned,
     .doc = "Longest sequence of the model; auto is data.seq."},
    {.path = "model.tie_embeddings", .type = Type::boolean, .fallback = "auto", .words = "auto",
     .on_resume = refused, .doc = family_texts().ties.c_str()},
    {.path = "model.norm_epsilon", .type = Type::real, .fallback = "1.0e-5", .min = 1e-30, .max = 1,
     .on_resume = refused, .doc = family_texts().norm_epsilon.c_str()},
    {.path = "model.rope_theta", .type = Type::real, .fallback = "10000", .min = 1, .max = 1e12,
     .on_resume = refused, .doc = family_texts().rope_theta.c_str()},
    {.path = "model.rotary_fraction", .type = Type::real, .fallback = "auto", .words = "auto", .min = 0.01, .max = 1,
     .on_resume = refused, .doc = family_texts().rotary_fraction.c_str()},
    {.path = "model.rope_scaling", .shorthand = "kind",
     .doc = "Rotary positions of sequences longer than those that a model was first trained on."},
    {.path = "model.rope_scaling.kind", .type = Type::word, .fallback = "none", .words = family_texts().rope_scalings.c_str(),
     .on_resume = refused,
     .doc = family_texts().rope_scaling.c_str()},
    {.path = "model.rope_scaling.factor", .type = Type::real, .fallback = "1", .min = 1, .max = 1e6,
     .on_resume = refused, .doc = "What angles are divided by."},
    {.path = "model.rope_scaling.low_freq_factor", .type = Type::real, .fallback = "1", .min = 1e-3, .max = 1e6,
     .on_resume = refused,
     .doc = family_texts().low_freq_factor.c_str()},
    {.path = "model.rope_scaling.high_freq_factor", .type = Type::real, .fallback = "4", .min = 1e-3, .max = 1e6,
     .on_resume = refused,
     .doc = family_texts().high_freq_factor.c_str()},
    {.path = "model.rope_scaling.original_max_seq", .type = Type::integer, .fallback = "8192", .min = 1,
     .max = most_elements, .on_resume = refused,
     .doc = family_texts().original_max_seq.c_str()},
    {.path = "model.dropout", .type = Type::real, .fallback = "0", .min = 0, .max = 0.99,
     .on_resume = warned, .from_here = "dropout leaves out another share", .doc = family_texts().dropout.c_str()},
    {.path = "model.embedding_gradient", .type = Type::real, .fallback = "1", .min = 0, .max = 1,
     .on_resume = warned, .from_here = "tokens that are looked up train their rows of the table by the new factor",
     .doc = "Factor of the gradient of the token table where tokens look it up, not where a tied head uses it. 0.1 keeps very"
            " large models stable (GLM-130B)."},
    {.path = "model.init_std", .type = Type::real, .fallback = "0.02", .min = 0, .max = 10,
     .on_resume = noted,
     .doc = "Standard deviation of initial weights; projections into the residual stream get it / sqrt(2 layers)."},
    {.path = "model.init", .shorthand = "from", .doc = "What a run that begins afresh begins with."},
    {.path = "model.init.from", .type = Type::word, .fallback = "random", .words = "random checkpoint hf",
     .on_resume = noted,
     .doc = "random weights; those of a checkpoint, alone, as of step 0; or hf: those of a model in the Hugging Face "
            "format, whose config.json also fills the keys of `model`. Resuming is run.resume."},
    {.path = "model.init.path", .type = Type::text, .fallback = "none", .words = "none",
     .on_resume = noted,
     .doc = "The folder of a checkpoint (RUN/ckpt/step-000001000) or of a run, whose newest one it then is; or the "
            "folder with config.json and safetensors files.",
     .is_name_or_place = true},
    {.path = "model.init.accept_change", .type = Type::texts, .fallback = "[]", .on_resume = noted,
     .doc = "Keys whose values may be others than those that the weights were trained with: model.norm_epsilon,"
            " model.rope_theta, model.rotary_fraction, model.rope_scaling. Any other difference in what the weights mean"
            " is an error."},
    };
    // clang-format on
    return rows;
}

}  // namespace ziggurat::deck
