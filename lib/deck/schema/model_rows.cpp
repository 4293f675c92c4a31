#include "deck/schema/deck_rows.hpp"
#include "deck/schema/family_texts.hpp"

namespace ziggurat::deck {

using enum OnResume;

/// Rows are created at the first call, because some texts come from the family descriptors.
std::span<const Row> model_rows() {
    // clang-format off
    static const Row rows[] = {
    {.path = "model", .shorthand = "preset", .doc = "The model. With a preset, any key here overrides it."},
    {.path = "model.preset", .type = Type::keyword,
     .keywords = family_texts().presets.c_str(),
     .on_resume = noted, .doc = "A published shape that fills the keys of `model`."},
    {.path = "model.family", .type = Type::keyword, .keywords = family_texts().names.c_str(),
     .on_resume = refused, .doc = family_texts().families.c_str()},
    {.path = "model.layers", .type = Type::integer, .noun = "layers", .min = 1, .max = 10000,
     .on_resume = refused, .doc = "Decoder layers."},
    {.path = "model.hidden", .type = Type::integer, .min = 1, .max = 1 << 17,
     .on_resume = refused, .doc = "Width of the residual stream."},
    {.path = "model.heads", .type = Type::integer, .min = 1, .max = 1 << 16, .on_resume = refused,
     .doc = "Attention heads."},
    {.path = "model.kv_heads", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1, .max = 1 << 16,
     .on_resume = refused, .doc = "Heads of keys and values; auto is one per head."},
    {.path = "model.head_dim", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1, .max = 1 << 14,
     .on_resume = refused, .doc = family_texts().head_dim.c_str()},
    {.path = "model.ffn_hidden", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1,
     .max = max_elements,
     .on_resume = refused, .doc = family_texts().ffn_hidden.c_str()},
    {.path = "model.vocab", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 2,
     .max = max_elements, .on_resume = refused,
     .doc = "Tokens in the vocabulary; auto is 256 for bytes."},
    {.path = "model.vocab_pad_to", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1,
     .max = 1 << 27, .on_resume = noted,
     .doc = "The embedding gets rows up to a multiple of this; padding rows are zero and never trained; "
            "auto is the smallest common multiple of 128 and the tensor degree."},
    {.path = "model.max_seq", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1,
     .max = max_elements, .on_resume = refused_if_learned,
     .doc = "Maximum sequence length of the model; auto is data.seq."},
    {.path = "model.tie_embeddings", .type = Type::boolean, .fallback = "auto", .keywords = "auto",
     .on_resume = refused, .doc = family_texts().ties.c_str()},
    {.path = "model.norm_epsilon", .type = Type::real, .fallback = "1.0e-5", .min = 1e-30, .max = 1,
     .on_resume = refused, .doc = family_texts().norm_epsilon.c_str()},
    {.path = "model.rope_theta", .type = Type::real, .fallback = "10000", .min = 1, .max = 1e12,
     .on_resume = refused, .doc = family_texts().rope_theta.c_str()},
    {.path = "model.rotary_fraction", .type = Type::real, .fallback = "auto", .keywords = "auto", .min = 0.01, .max = 1,
     .on_resume = refused, .doc = family_texts().rotary_fraction.c_str()},
    {.path = "model.rope_scaling", .shorthand = "kind",
     .doc = "Scaling of rotary positions for sequences longer than those of pretraining."},
    {.path = "model.rope_scaling.kind", .type = Type::keyword, .fallback = "none", .keywords = family_texts().rope_scalings.c_str(),
     .on_resume = refused,
     .doc = family_texts().rope_scaling.c_str()},
    {.path = "model.rope_scaling.factor", .type = Type::real, .fallback = "1", .min = 1, .max = 1e6,
     .on_resume = refused, .doc = family_texts().rope_factor.c_str()},
    {.path = "model.rope_scaling.low_freq_factor", .type = Type::real, .fallback = "1", .min = 1e-3, .max = 1e6,
     .on_resume = refused,
     .doc = family_texts().low_freq_factor.c_str()},
    {.path = "model.rope_scaling.high_freq_factor", .type = Type::real, .fallback = "4", .min = 1e-3, .max = 1e6,
     .on_resume = refused,
     .doc = family_texts().high_freq_factor.c_str()},
    {.path = "model.rope_scaling.original_max_seq", .type = Type::integer, .fallback = "8192", .min = 1,
     .max = max_elements, .on_resume = refused,
     .doc = family_texts().original_max_seq.c_str()},
    {.path = "model.rope_scaling.beta_fast", .type = Type::real, .fallback = "32", .min = 1e-3, .max = 1e6,
     .on_resume = refused,
     .doc = "yarn: pairs of channels that turn more often than this in original_max_seq tokens are not scaled."},
    {.path = "model.rope_scaling.beta_slow", .type = Type::real, .fallback = "1", .min = 1e-3, .max = 1e6,
     .on_resume = refused,
     .doc = "yarn: angles of pairs that turn less often than this in original_max_seq tokens are divided by "
            "the full factor."},
    {.path = "model.rope_scaling.truncate", .type = Type::boolean, .fallback = "true", .on_resume = refused,
     .doc = "yarn: the bounds between such pairs are rounded to whole pairs."},
    {.path = "model.rope_scaling.attention_factor", .type = Type::real, .fallback = "auto", .keywords = "auto",
     .min = 1e-3, .max = 1e3, .on_resume = refused,
     .doc = "yarn and longrope: factor of all cosines and sines. auto is 0.1 ln(factor) + 1 for yarn, and "
            "sqrt(1 + ln(factor) / ln(original_max_seq)) for longrope."},
    {.path = "model.rope_scaling.short_factors", .type = Type::reals, .fallback = "[]", .min = 1e-3, .max = 1e4,
     .on_resume = refused,
     .doc = "longrope: divisors of the angles, one for each pair of rotated channels, for data.seq up to "
            "original_max_seq."},
    {.path = "model.rope_scaling.long_factors", .type = Type::reals, .fallback = "[]", .min = 1e-3, .max = 1e4,
     .on_resume = refused, .doc = "longrope: divisors of the angles for a longer data.seq."},
    {.path = "model.no_rope_interval", .type = Type::integer, .fallback = "auto", .keywords = "auto none", .min = 1,
     .max = 10000, .on_resume = refused, .doc = family_texts().no_rope_interval.c_str()},
    {.path = "model.window", .type = Type::integer, .fallback = "none", .keywords = "none", .min = 1,
     .max = max_elements, .on_resume = refused, .doc = family_texts().window.c_str()},
    {.path = "model.full_attention_interval", .type = Type::integer, .fallback = "none", .keywords = "none", .min = 2,
     .max = 10000, .on_resume = refused, .doc = family_texts().full_attention_interval.c_str()},
    {.path = "model.window_rope_theta", .type = Type::real, .fallback = "auto", .keywords = "auto", .min = 1,
     .max = 1e12, .on_resume = refused, .doc = family_texts().window_rope_theta.c_str()},
    {.path = "model.bias", .doc = "Biases of a layer's products, for families that leave the choice."},
    {.path = "model.bias.qkv", .type = Type::boolean, .fallback = "false", .on_resume = refused,
     .doc = family_texts().bias.c_str()},
    {.path = "model.bias.output", .type = Type::boolean, .fallback = "false", .on_resume = refused,
     .doc = "The same for the projection after attention. Published models set both by one key."},
    {.path = "model.bias.mlp", .type = Type::boolean, .fallback = "false", .on_resume = refused,
     .doc = "The same for the three products of the MLP."},
    {.path = "model.attention_scale", .type = Type::real, .fallback = "auto", .keywords = "auto", .min = 1e-6,
     .max = 1000, .on_resume = refused, .doc = family_texts().attention_scale.c_str()},
    {.path = "model.multiplier", .doc = family_texts().multiplier.c_str()},
    {.path = "model.multiplier.embedding", .type = Type::real, .fallback = "1", .min = 1e-6, .max = 1e6,
     .on_resume = refused,
     .doc = "Factor of the token table's rows in lookups; a tied head uses the table without it."},
    {.path = "model.multiplier.residual", .type = Type::real, .fallback = "1", .min = 1e-6, .max = 1000,
     .on_resume = refused,
     .doc = "Factor of both branches of a layer, before they are added to the residual stream."},
    {.path = "model.multiplier.logits", .type = Type::real, .fallback = "1", .min = 1e-6, .max = 1000,
     .on_resume = refused,
     .doc = "Factor of the logits; the config.json of published models has its reciprocal, a divisor."},
    {.path = "model.dropout", .type = Type::real, .fallback = "0", .min = 0, .max = 0.99,
     .on_resume = warned, .from_here = "dropout has the new rate", .doc = family_texts().dropout.c_str()},
    {.path = "model.embedding_gradient", .type = Type::real, .fallback = "1", .min = 0, .max = 1,
     .on_resume = warned, .from_here = "lookups train the token table with the new factor",
     .doc = "Factor of the token table's gradient from lookups; does not apply to the part of a tied head. "
            "0.1 keeps very large models stable (GLM-130B)."},
    {.path = "model.init_std", .type = Type::real, .fallback = "0.02", .min = 0, .max = 10,
     .on_resume = noted,
     .doc = "Standard deviation of initial weights; for projections into the residual stream it is divided "
            "by sqrt(2 layers)."},
    {.path = "model.init", .shorthand = "from", .doc = "Initial weights of a run that starts from scratch."},
    {.path = "model.init.from", .type = Type::keyword, .fallback = "random", .keywords = "random checkpoint hf",
     .on_resume = noted,
     .doc = "random: random weights. checkpoint: only the weights of a checkpoint, from step 0. hf: "
            "weights in the Hugging Face format, with a config.json that also sets the keys of `model`. To "
            "resume a run, use run.resume."},
    {.path = "model.init.path", .type = Type::text, .fallback = "none", .keywords = "none",
     .on_resume = noted,
     .doc = "Folder of a checkpoint (RUN/ckpt/step-000001000), or of a run, whose newest checkpoint is "
            "used; or a folder with config.json and safetensors files.",
     .is_name_or_place = true},
    {.path = "model.init.accept_change", .type = Type::texts, .fallback = "[]", .on_resume = noted,
     .doc = "Keys whose values may differ from those with which the weights were trained: "
            "model.norm_epsilon, model.rope_theta, model.rotary_fraction, model.rope_scaling. Any other "
            "difference in the meaning of the weights is an error."},
    };
    // clang-format on
    return rows;
}

}  // namespace ziggurat::deck
