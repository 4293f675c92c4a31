#include <fmt/format.h>

#include <array>
#include <cmath>

#include "deck/messages/arithmetic.hpp"
#include "deck/rules/rules.hpp"
#include "deck/schema/family_texts.hpp"
#include "layout/families/family_descriptor.hpp"
#include "spec/layout_space.hpp"

namespace ziggurat::deck {
namespace {

void heads_divide_the_width(const Resolution& at) {
    const spec::Model& model = at.run.model;
    const auto& family = layout::family_of(model);
    if (model.hidden == model.heads * model.head_dim || family.has_own_head_dim) {
        if (model.head_dim == 0) {
            at.found.error(
                at.values.location("model.heads"),
                fmt::format("model.heads = {} is more than model.hidden = {}", model.heads, model.hidden),
                "no channels are left for a head", "Use fewer heads, or set model.head_dim.");
        }
        return;
    }
    if (model.hidden % model.heads == 0) {
        at.found.error(at.values.location("model.head_dim"),
                       fmt::format("model.head_dim = {}, where hidden / heads is {}", model.head_dim,
                                   model.hidden / model.heads),
                       fmt::format("the heads of {} are together as wide as the model", family.name),
                       fmt::format("Leave it out, or use family {}.",
                                   families_or([](const auto& f) { return f.has_own_head_dim; })));
        return;
    }
    at.found.error(
        at.values.location("model.heads"),
        fmt::format("model.heads = {} does not divide model.hidden = {}", model.heads, model.hidden),
        "each head has hidden / heads channels",
        fmt::format("Use {} heads, or a width of {}.", list_or(divisors(model.hidden)),
                    list_or(nearest_multiples(model.hidden, model.heads))));
}

void rotary_channels_come_in_pairs(const Resolution& at) {
    const spec::Model& model = at.run.model;
    const double turned = static_cast<double>(model.head_dim) * model.rotary_fraction;
    const auto channels = model.rotary_channels();
    const bool are_pairs =
        channels >= 2 && channels % 2 == 0 && std::abs(turned - static_cast<double>(channels)) < 1e-6;
    if (!layout::family_of(model).has_rotary_positions() || model.head_dim == 0 || are_pairs) {
        return;
    }
    at.found.error(at.values.location("model.heads"), fmt::format("{} rotary channels per head", turned),
                   "rotary positions rotate pairs of channels",
                   "Choose hidden / heads (or model.head_dim) and model.rotary_fraction so that they are an "
                   "even number.");
}

void query_heads_share_key_heads_evenly(const Resolution& at) {
    const spec::Model& model = at.run.model;
    const auto& family = layout::family_of(model);
    if (!family.has_grouped_queries && model.kv_heads != model.heads) {
        at.found.error(at.values.location("model.kv_heads"),
                       fmt::format("model.kv_heads = {} with {} heads", model.kv_heads, model.heads),
                       fmt::format("{} has keys and values for every head", family.name),
                       fmt::format("Leave it out, or use family {}.",
                                   families_or([](const auto& f) { return f.has_grouped_queries; })));
    } else if (model.heads % model.kv_heads != 0) {
        at.found.error(
            at.values.location("model.kv_heads"),
            fmt::format("model.kv_heads = {} does not divide model.heads = {}", model.kv_heads, model.heads),
            "each head of keys serves the same number of query heads",
            fmt::format("Use {}.", list_or(divisors(model.heads))));
    }
}

void sequences_fit_the_model(const Resolution& at) {
    if (at.run.data.seq <= at.run.model.max_seq) {
        return;
    }
    at.found.error(
        at.values.location("data.seq"),
        fmt::format("data.seq = {} is longer than model.max_seq = {}", at.run.data.seq, at.run.model.max_seq),
        "the model has no positions beyond max_seq", "Shorten the sequences or raise max_seq.");
}

void the_tokenizer_fits_the_vocabulary(const Resolution& at) {
    if (at.run.model.vocab >= at.tokenizer_vocab) {
        return;
    }
    // A value that the deck does not set belongs to the model: another tokenizer fits it.
    const bool is_own = at.values.is_written("model.vocab");
    at.found.error(at.values.location(is_own ? "model.vocab" : "data.tokenizer"),
                   fmt::format("model.vocab = {} is too small", at.run.model.vocab),
                   at.run.data.tokenizer.has_file()
                       ? fmt::format("the tokens of data.tokenizer are 0 to {}", at.tokenizer_vocab - 1)
                       : "the bytes tokenizer makes 256 different tokens",
                   is_own ? fmt::format("Use {} or more, or leave it out.", at.tokenizer_vocab)
                          : "Use the tokenizer of the model.");
}

void dropout_has_a_place(const Resolution& at) {
    const auto& family = layout::family_of(at.run.model);
    if (!family.has_dropout && at.run.model.dropout > 0) {
        at.found.error(
            at.values.location("model.dropout"), fmt::format("model.dropout = {}", at.run.model.dropout),
            fmt::format("{} has no dropout", family.name),
            fmt::format("Use 0, or family {}.", families_or([](const auto& f) { return f.has_dropout; })));
    }
}

void rotary_positions_are_those_of_the_family(const Resolution& at) {
    const auto& family = layout::family_of(at.run.model);
    for (const char* key : {"model.rope_theta", "model.rotary_fraction", "model.rope_scaling.kind"}) {
        if (family.has_rotary_positions() || !at.values.is_written(key)) {
            continue;
        }
        at.found.error(at.values.location(key), fmt::format("{} is given for {}", key, family.name),
                       fmt::format("{} learns its positions", family.name),
                       fmt::format("Remove it, or use family {}.",
                                   families_or([](const auto& f) { return f.has_rotary_positions(); })));
    }
}

void parts_are_those_of_the_family(const Resolution& at) {
    using Family = layout::FamilyDescriptor;
    const struct {
        const char* key;
        const char* what;
        bool (*has)(const Family&);
    } parts[] = {
        {"model.bias.qkv", "has a fixed choice of biases",
         [](const Family& f) { return f.has_optional_biases; }},
        {"model.bias.output", "has a fixed choice of biases",
         [](const Family& f) { return f.has_optional_biases; }},
        {"model.bias.mlp", "has a fixed choice of biases",
         [](const Family& f) { return f.has_optional_biases; }},
        {"model.window", "has no window", [](const Family& f) { return f.has_window; }},
        {"model.full_attention_interval", "has no window", [](const Family& f) { return f.has_window; }},
        {"model.window_rope_theta", "rotates all layers by model.rope_theta",
         [](const Family& f) { return f.window_rope_theta > 0; }},
        {"model.no_rope_interval", "has the same positions in all layers",
         [](const Family& f) { return f.no_rope_interval >= 0; }},
        {"model.attention_scale", "scales scores by 1 / sqrt(head_dim)",
         [](const Family& f) { return f.has_attention_scale; }},
        {"model.softcap.attention", "has no soft caps", [](const Family& f) { return f.has_softcap(); }},
        {"model.softcap.logits", "has no soft caps", [](const Family& f) { return f.has_softcap(); }},
        {"model.multiplier.embedding", "has no constant factors",
         [](const Family& f) { return f.has_multipliers; }},
        {"model.multiplier.residual", "has no constant factors",
         [](const Family& f) { return f.has_multipliers; }},
        {"model.multiplier.logits", "has no constant factors",
         [](const Family& f) { return f.has_multipliers; }}};
    const auto& family = layout::family_of(at.run.model);
    for (const auto& part : parts) {
        if (at.values.is_written(part.key) && !part.has(family)) {
            at.found.error(at.values.location(part.key),
                           fmt::format("{} is given for {}", part.key, family.name),
                           fmt::format("{} {}", family.name, part.what),
                           fmt::format("Remove it, or use family {}.", families_or(part.has)));
        }
    }
    if (at.run.model.bias.qkv != at.run.model.bias.output) {
        at.found.error(at.values.location("model.bias.output"),
                       fmt::format("model.bias.output = {} with model.bias.qkv = {}",
                                   at.run.model.bias.output, at.run.model.bias.qkv),
                       fmt::format("{} sets both by one key of its config.json", family.name),
                       "Give both the same value.");
    }
}

void layers_without_a_window_have_neighbours_with_one(const Resolution& at) {
    const auto& model = at.run.model;
    if (layout::family_of(model).has_window && model.full_attention_interval > 0 && model.window == 0) {
        at.found.error(at.values.location("model.full_attention_interval"),
                       fmt::format("model.full_attention_interval = {} without model.window",
                                   model.full_attention_interval),
                       "no layer has a window", "Set model.window, or remove model.full_attention_interval.");
    }
}

void document_token_is_in_the_vocabulary(const Resolution& at) {
    if (at.run.data.document_token >= at.run.model.vocab) {
        at.found.error(
            at.values.location("data.document_token"),
            fmt::format("data.document_token = {} is not in the vocabulary", at.run.data.document_token),
            fmt::format("model.vocab = {} counts from 0", at.run.model.vocab), "Use a token that exists.");
    }
}

/// Checks `recompute.every`. \param map  key of the recomputation
void check_kept_inputs(const Resolution& at, const std::string& map, const spec::Recompute& recompute) {
    if (recompute.every == 1) {
        return;
    }
    const auto asked = fmt::format("{}.every = {}", map, recompute.every);
    if (recompute.kind != spec::RecomputeKind::full && !recompute.is_auto) {
        at.found.error(at.values.location(map + ".every"), asked,
                       fmt::format("only {}.kind full stores just the inputs of layers", map),
                       "Use kind full, or leave every out.");
    } else if (recompute.every > at.run.model.layers) {
        at.found.error(at.values.location(map + ".every"), asked,
                       fmt::format("the model has {} layers", at.run.model.layers),
                       fmt::format("Use at most {}.", at.run.model.layers));
    }
}

void kept_inputs_are_apart_where_layers_are_redone(const Resolution& at) {
    check_kept_inputs(at, "recompute", at.run.recompute);
    for (std::size_t stage = 0; stage < at.run.stages.size(); ++stage) {
        const auto map = fmt::format("parallel.pipeline.each[{}].recompute", stage);
        if (at.values.has(map + ".every")) {
            check_kept_inputs(at, map, at.run.stages[stage].recompute);
        }
    }
}

void what_is_cut_has_copies(const Resolution& at) {
    const auto& parallel = at.run.parallel;
    if (at.run.recompute.split && !spec::has_equal_activations(parallel)) {
        at.found.error(at.values.location("recompute.split"), "recompute.split has nothing to shard",
                       parallel.tensor == 1 ? "parallel.tensor = 1: there is one copy of everything"
                       : parallel.has_grid()
                           ? fmt::format("in tensor mode {} each rank keeps its own part of each activation",
                                         at.values.keyword("parallel.tensor.mode"))
                           : std::string{"with parallel.sequence each tensor rank keeps its own tokens"},
                       "Leave it out, or write auto.");
    }
}

constexpr std::array rules = {
    Rule{heads_divide_the_width, "model.hidden model.heads model.head_dim model.family"},
    Rule{rotary_channels_come_in_pairs,
         "model.hidden model.heads model.head_dim model.family model.rotary_fraction"},
    Rule{parts_are_those_of_the_family,
         "model.family model.bias model.window model.full_attention_interval model.window_rope_theta "
         "model.no_rope_interval model.attention_scale model.softcap "
         "model.multiplier"},
    Rule{layers_without_a_window_have_neighbours_with_one, "model.window model.full_attention_interval"},
    Rule{query_heads_share_key_heads_evenly, "model.heads model.kv_heads model.family"},
    Rule{sequences_fit_the_model, "data.seq model.max_seq"},
    Rule{the_tokenizer_fits_the_vocabulary, "model.vocab data.tokenizer"},
    Rule{dropout_has_a_place, "model.family model.dropout"},
    Rule{rotary_positions_are_those_of_the_family,
         "model.family model.rope_theta model.rotary_fraction model.rope_scaling"},
    Rule{kept_inputs_are_apart_where_layers_are_redone, "recompute model.layers parallel.pipeline"},
    Rule{what_is_cut_has_copies, "recompute.split parallel.tensor parallel.sequence"},
    Rule{document_token_is_in_the_vocabulary, "model.vocab data.document_token"},
};

}  // namespace

std::span<const Rule> model_rules() {
    return rules;
}

}  // namespace ziggurat::deck
