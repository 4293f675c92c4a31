#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "base/round_up.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/resolve/resolve_hf.hpp"
#include "deck/schema/family_texts.hpp"
#include "deck/values/reader.hpp"
#include "deck/values/working_folder.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/rope_scalings.hpp"
#include "layout/rotary_frequencies.hpp"

namespace ziggurat::deck {
namespace {

/// Sets `path` from the preset; adds a note if the deck has its own value.
void take_from_preset(Resolution& resolution, const std::string& path, const std::string& text) {
    Values& values = resolution.values;
    const std::string preset = values.keyword("model.preset");
    if (values.is_bad(path)) {
        return;
    }
    if (values.is_written(path)) {
        const std::string& own = values.find(path)->written;
        if (own != text) {
            resolution.found.note(values.location(path),
                                  fmt::format("{} = {} replaces {} in preset {}", path, own, text, preset));
        }
        return;
    }
    DeckValue value = value_of(*deck_schema().find(path), text);
    value.origin.kind = OriginKind::preset;
    value.origin.note = preset;
    values.set(path, std::move(value));
}

void apply_preset(Resolution& resolution) {
    const spec::Model* preset = layout::find_preset(resolution.values.keyword("model.preset"));
    if (preset == nullptr) {
        return;
    }
    const auto take = [&](const char* path, const std::string& text) {
        take_from_preset(resolution, path, text);
    };
    const auto count = [](std::int64_t value) { return fmt::format("{}", value); };
    const auto& family = layout::family_of(*preset);
    take("model.family", family.name);
    take("model.layers", count(preset->layers));
    take("model.hidden", count(preset->hidden));
    take("model.heads", count(preset->heads));
    take("model.vocab", count(preset->vocab));
    take("model.max_seq", count(preset->max_seq));
    take("model.tie_embeddings", preset->tie_embeddings ? "true" : "false");
    if (family.has_grouped_queries) {
        take("model.kv_heads", count(preset->kv_heads));
    }
    if (preset->head_dim != 0) {
        take("model.head_dim", count(preset->head_dim));
    }
    if (preset->ffn_hidden != family.usual_ffn_hidden(preset->hidden)) {
        take("model.ffn_hidden", count(preset->ffn_hidden));
    }
    if (preset->norm_epsilon != spec::Model{}.norm_epsilon) {
        take("model.norm_epsilon", write_real(preset->norm_epsilon));
    }
    if (family.has_rotary_positions()) {
        take("model.rope_theta", write_real(preset->rope_theta));
        take("model.rotary_fraction", write_real(preset->rotary_fraction));
    }
    if (preset->window > 0) {
        take("model.window", count(preset->window));
        if (preset->full_attention_interval > 0) {
            take("model.full_attention_interval", count(preset->full_attention_interval));
        }
    }
    if (family.has_attention_scale) {
        take("model.attention_scale", write_real(preset->attention_scale));
    }
    if (family.has_softcap()) {
        const auto cap = [](double value) { return value > 0 ? write_real(value) : "none"; };
        take("model.softcap.attention", cap(preset->softcap.attention));
        take("model.softcap.logits", cap(preset->softcap.logits));
    }
    if (family.has_multipliers) {
        take("model.multiplier.embedding", write_real(preset->multiplier.embedding));
        take("model.multiplier.residual", write_real(preset->multiplier.residual));
        take("model.multiplier.logits", write_real(preset->multiplier.logits));
    }
}

void resolve_widths(Resolution& resolution) {
    spec::Model& model = resolution.run.model;
    const auto& family = layout::family_of(model);
    Values& values = resolution.values;
    if (resolution.is_auto("model.kv_heads")) {
        resolution.set_resolved_integer("model.kv_heads", model.heads, "one per head");
    }
    model.kv_heads = values.integer("model.kv_heads");
    if (resolution.is_auto("model.head_dim")) {
        resolution.set_resolved_integer("model.head_dim", model.heads > 0 ? model.hidden / model.heads : 0,
                                        "hidden / heads");
    }
    model.head_dim = values.integer("model.head_dim");
    if (resolution.is_auto("model.ffn_hidden")) {
        resolution.set_resolved_integer("model.ffn_hidden", family.usual_ffn_hidden(model.hidden),
                                        family.usual_ffn_formula);
    }
    model.ffn_hidden = values.integer("model.ffn_hidden");
    if (resolution.is_auto("model.tie_embeddings")) {
        const bool is_tied = family.ties_embeddings;
        values.set_resolved("model.tie_embeddings", is_tied, is_tied ? "true" : "false",
                            "value of the family");
    }
    model.tie_embeddings = values.boolean("model.tie_embeddings");
}

void resolve_vocabulary(Resolution& resolution) {
    spec::Model& model = resolution.run.model;
    Values& values = resolution.values;
    if (resolution.is_auto("model.vocab")) {
        constexpr std::array keys{"data.tokenizer", "data.tokenizer.kind", "data.tokenizer.path"};
        if (std::ranges::any_of(keys, [&](const char* key) { return values.is_bad(key); })) {
            values.mark_bad("model.vocab");  // depends on the tokenizer, which has an error
        } else if (resolution.tokenizer_vocab > 0) {
            resolution.set_resolved_integer(
                "model.vocab", resolution.tokenizer_vocab,
                resolution.run.data.tokenizer.has_file() ? "of data.tokenizer" : "a token per byte");
        } else {
            values.erase("model.vocab");
            resolution.require("model.vocab", resolution.run.data.tokenizer.has_file()
                                                  ? "the tokenizer's file is not available"
                                                  : "sources of token ids do not contain the vocabulary "
                                                    "size");
        }
    }
    model.vocab = values.integer("model.vocab");
    if (resolution.is_auto("model.vocab_pad_to")) {
        constexpr std::int64_t usual = 128;
        const auto tensor = std::max<std::int64_t>(1, values.integer("parallel.tensor.degree"));
        resolution.set_resolved_integer(
            "model.vocab_pad_to", std::lcm(usual, tensor),
            tensor == 1 ? "the usual multiple"
                        : fmt::format("smallest multiple of {} and tensor = {}", usual, tensor));
    }
    model.vocab_padded =
        round_up(model.vocab, std::max<std::int64_t>(1, values.integer("model.vocab_pad_to")));
}

/// Removes the defaults of keys of model.rope_scaling that the run's kind does not use.
void erase_unused_scaling(const Resolution& resolution) {
    for (const Row* row : deck_schema().children("model.rope_scaling")) {
        if (!layout::uses_key(resolution.run.model.rope_scaling.kind, leaf_of(row->path))) {
            resolution.erase_default(row->path);
        }
    }
}

void resolve_scaling(Resolution& resolution) {
    Values& values = resolution.values;
    auto& scaling = resolution.run.model.rope_scaling;
    const std::string map = "model.rope_scaling.";
    const auto kind = layout::find_rope_scaling(values.keyword(map + "kind"));
    if (!kind || *kind == spec::RopeScalingKind::none) {
        erase_unused_scaling(resolution);
        return;
    }
    const auto real = [&](double& field, const char* key) {
        if (layout::uses_key(*kind, key)) {
            field = values.real(map + key);
        }
    };
    scaling.kind = *kind;
    real(scaling.factor, "factor");
    real(scaling.low_freq_factor, "low_freq_factor");
    real(scaling.high_freq_factor, "high_freq_factor");
    real(scaling.beta_fast, "beta_fast");
    real(scaling.beta_slow, "beta_slow");
    if (layout::uses_key(*kind, "original_max_seq")) {
        scaling.original_max_seq = values.integer(map + "original_max_seq");
    }
    if (layout::uses_key(*kind, "truncate")) {
        scaling.truncate = values.boolean(map + "truncate");
    }
    if (layout::uses_key(*kind, "short_factors")) {
        scaling.short_factors = values.as<std::vector<double>>(map + "short_factors");
        scaling.long_factors = values.as<std::vector<double>>(map + "long_factors");
    }
    if (layout::uses_key(*kind, "attention_factor") && resolution.is_auto(map + "attention_factor")) {
        const double usual = layout::usual_attention_factor(scaling);
        values.set_resolved(map + "attention_factor", usual, write_real(usual), "from factor");
    }
    real(scaling.attention_factor, "attention_factor");
    erase_unused_scaling(resolution);
}

void resolve_positions(Resolution& resolution) {
    spec::Model& model = resolution.run.model;
    Values& values = resolution.values;
    const auto& family = layout::family_of(model);
    if (!family.has_rotary_positions()) {
        for (const char* key : {"model.rope_theta", "model.rotary_fraction"}) {
            resolution.erase_default(key);
        }
        resolution.erase_default("model.rope_scaling.kind");
        erase_unused_scaling(resolution);
        return;
    }
    if (resolution.is_auto("model.rotary_fraction")) {
        values.set_resolved("model.rotary_fraction", family.rotary_fraction,
                            write_real(family.rotary_fraction), "value of the family");
    }
    model.rope_theta = values.real("model.rope_theta");
    model.rotary_fraction = values.real("model.rotary_fraction");
    resolve_scaling(resolution);
}

/// Resolves constant factors. Families without them have the usual scale of scores, and factors of 1.
void resolve_factors(Resolution& resolution) {
    spec::Model& model = resolution.run.model;
    Values& values = resolution.values;
    const double usual = model.head_dim > 0 ? model.usual_attention_scale() : 1;
    const auto& family = layout::family_of(model);
    if (!family.has_attention_scale) {
        resolution.erase_default("model.attention_scale");
        model.attention_scale = usual;
    } else {
        if (resolution.is_auto("model.attention_scale")) {
            values.set_resolved("model.attention_scale", usual, write_real(usual), "1 / sqrt(head_dim)");
        }
        model.attention_scale = values.real("model.attention_scale");
    }
    if (!family.has_multipliers) {
        for (const char* key :
             {"model.multiplier.embedding", "model.multiplier.residual", "model.multiplier.logits"}) {
            resolution.erase_default(key);
        }
        return;
    }
    model.multiplier = {.embedding = values.real("model.multiplier.embedding"),
                        .residual = values.real("model.multiplier.residual"),
                        .logits = values.real("model.multiplier.logits")};
}

void resolve_softcaps(Resolution& resolution) {
    spec::Model& model = resolution.run.model;
    Values& values = resolution.values;
    const auto& family = layout::family_of(model);
    const struct {
        const char* key;
        double spec::Softcap::*cap;
    } caps[] = {{"model.softcap.attention", &spec::Softcap::attention},
                {"model.softcap.logits", &spec::Softcap::logits}};
    for (const auto& [key, cap] : caps) {
        if (!family.has_softcap()) {
            resolution.erase_default(key);
            continue;
        }
        if (resolution.is_auto(key)) {
            const double usual = family.softcap.*cap;
            values.set_resolved(key, usual, write_real(usual), "value of the family");
        }
        model.softcap.*cap = values.is_keyword(key, "none") ? 0 : values.real(key);
    }
}

/// Resolves what only some families leave to the deck.
void resolve_parts(Resolution& resolution) {
    spec::Model& model = resolution.run.model;
    Values& values = resolution.values;
    const auto& family = layout::family_of(model);
    if (family.has_optional_biases) {
        model.bias = {.qkv = values.boolean("model.bias.qkv"),
                      .output = values.boolean("model.bias.output"),
                      .mlp = values.boolean("model.bias.mlp")};
    } else {
        for (const char* key : {"model.bias.qkv", "model.bias.output", "model.bias.mlp"}) {
            resolution.erase_default(key);
        }
    }
    if (!family.has_window) {
        resolution.erase_default("model.window");
        resolution.erase_default("model.full_attention_interval");
    } else {
        const auto number_of = [&](const char* key) {
            return values.is_keyword(key, "none") ? 0 : values.integer(key);
        };
        model.window = number_of("model.window");
        model.full_attention_interval = number_of("model.full_attention_interval");
    }
    if (family.window_rope_theta == 0) {
        resolution.erase_default("model.window_rope_theta");
    } else {
        if (resolution.is_auto("model.window_rope_theta")) {
            values.set_resolved("model.window_rope_theta", family.window_rope_theta,
                                write_real(family.window_rope_theta), "value of the family");
        }
        model.window_rope_theta = values.real("model.window_rope_theta");
    }
    if (family.no_rope_interval < 0) {
        resolution.erase_default("model.no_rope_interval");
        return;
    }
    if (resolution.is_auto("model.no_rope_interval")) {
        resolution.set_resolved_integer("model.no_rope_interval", family.no_rope_interval,
                                        "value of the family");
    }
    model.no_rope_interval =
        values.is_keyword("model.no_rope_interval", "none") ? 0 : values.integer("model.no_rope_interval");
}

}  // namespace

void resolve_model(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Model& model = resolution.run.model;
    model.family = layout::families().front()->name;  // replaced when the deck sets one
    if (values.is_bad("model.preset") || values.is_bad("model")) {
        values.mark_bad("model");  // the model cannot be checked further
        return;
    }
    apply_preset(resolution);
    apply_published_config(resolution);
    if (values.is_bad("model")) {
        return;
    }
    resolution.require("model.family", "it determines the layers of the model: " + all_families_or());
    resolution.require("model.layers", "a model without a preset needs its depth");
    resolution.require("model.hidden", "a model without a preset needs its width");
    resolution.require("model.heads", "a model without a preset needs its attention heads");
    if (const auto* family = layout::find_family(values.keyword("model.family")); family != nullptr) {
        model.family = family->name;
    }
    model.layers = values.integer("model.layers");
    model.hidden = values.integer("model.hidden");
    model.heads = values.integer("model.heads");
    resolve_widths(resolution);
    resolve_vocabulary(resolution);
    model.norm_epsilon = values.real("model.norm_epsilon");
    resolve_positions(resolution);
    resolve_parts(resolution);
    resolve_factors(resolution);
    resolve_softcaps(resolution);
    model.dropout = values.real("model.dropout");
    model.init_std = values.real("model.init_std");
    model.embedding_gradient = values.real("model.embedding_gradient");
    if (!values.is_keyword("model.init.from", "random") && !values.is_keyword("model.init.path", "none")) {
        model.init_path = path_from(values, values.text("model.init.path"));
        model.is_init_published = values.is_keyword("model.init.from", "hf");
    }
}

}  // namespace ziggurat::deck
