#include "deck/schema/family_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "layout/families/rope_scalings.hpp"

namespace ziggurat::deck {
namespace {

using layout::FamilyDescriptor;
using Names = std::vector<std::string>;

Names names_of(bool (*has)(const FamilyDescriptor&)) {
    Names names;
    for (const auto* family : layout::families()) {
        if (has(*family)) {
            names.emplace_back(family->name);
        }
    }
    return names;
}

/// Returns `a, b or c`.
std::string joined(const Names& names, const char* conjunction) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += i == 0 ? "" : i + 1 == names.size() ? fmt::format(" {} ", conjunction) : ", ";
        text += names[i];
    }
    return text;
}

/// Groups families for which `has` is true by their `text`: `4 hidden (gpt2)`, in family order.
Names shared(std::string (*text)(const FamilyDescriptor&), bool (*has)(const FamilyDescriptor&)) {
    std::vector<std::pair<std::string, Names>> groups;
    for (const auto* family : layout::families()) {
        if (!has(*family)) {
            continue;
        }
        auto group = groups.begin();
        while (group != groups.end() && group->first != text(*family)) {
            ++group;
        }
        if (group == groups.end()) {
            group = groups.insert(group, {text(*family), {}});
        }
        group->second.emplace_back(family->name);
    }
    Names lines;
    for (const auto& [written, names] : groups) {
        lines.push_back(fmt::format("{} ({})", written, fmt::join(names, ", ")));
    }
    return lines;
}

bool is_any(const FamilyDescriptor&) {
    return true;
}

bool has_rotary_positions(const FamilyDescriptor& family) {
    return family.has_rotary_positions();
}

bool has_dropout(const FamilyDescriptor& family) {
    return family.has_dropout;
}

bool ties(const FamilyDescriptor& family) {
    return family.ties_embeddings;
}

bool ties_not(const FamilyDescriptor& family) {
    return !family.ties_embeddings;
}

std::string ffn_formula(const FamilyDescriptor& family) {
    return family.usual_ffn_formula;
}

std::string rotary_fraction(const FamilyDescriptor& family) {
    return fmt::format("{}", family.rotary_fraction);
}

std::string base_of_norm(const FamilyDescriptor& family) {
    return family.norm == layout::NormKind::layer_norm ? "the variance" : "the mean square";
}

bool has_own_head_dim(const FamilyDescriptor& family) {
    return family.has_own_head_dim;
}

bool has_window(const FamilyDescriptor& family) {
    return family.has_window;
}

bool has_optional_biases(const FamilyDescriptor& family) {
    return family.has_optional_biases;
}

bool has_window_theta(const FamilyDescriptor& family) {
    return family.window_rope_theta > 0;
}

std::string window_rope_theta(const FamilyDescriptor& family) {
    return fmt::format("{}", family.window_rope_theta);
}

bool has_attention_scale(const FamilyDescriptor& family) {
    return family.has_attention_scale;
}

bool has_multipliers(const FamilyDescriptor& family) {
    return family.has_multipliers;
}

bool has_softcap(const FamilyDescriptor& family) {
    return family.has_softcap();
}

std::string softcap(const FamilyDescriptor& family) {
    return fmt::format("{} and {}", family.softcap.attention, family.softcap.logits);
}

bool can_leave_rope_out(const FamilyDescriptor& family) {
    return family.no_rope_interval >= 0;
}

std::string no_rope_interval(const FamilyDescriptor& family) {
    return fmt::format("{}", family.no_rope_interval);
}

FamilyTexts make() {
    FamilyTexts texts;
    Names presets;
    Names described;
    for (const auto* family : layout::families()) {
        described.push_back(fmt::format("{}: {}.", family->name, family->doc));
        for (const auto& preset : family->presets) {
            presets.emplace_back(preset.name);
        }
    }
    texts.names = fmt::format("{}", fmt::join(names_of(is_any), " "));
    texts.presets = fmt::format("{}", fmt::join(presets, " "));
    texts.families = fmt::format("{}", fmt::join(described, " "));
    texts.ffn_hidden =
        fmt::format("Width inside the MLP; auto is {}.", joined(shared(ffn_formula, is_any), "or"));
    texts.ties = fmt::format("The head uses the weights of the embedding; auto is true for {}, false for {}.",
                             joined(names_of(ties), "and"), joined(names_of(ties_not), "and"));
    texts.norm_epsilon =
        fmt::format("Constant added to {} in a norm.", joined(shared(base_of_norm, is_any), "or"));
    texts.rope_theta = fmt::format("Base of the rotary frequencies; {} only.",
                                   joined(names_of(has_rotary_positions), "and"));
    texts.rotary_fraction =
        fmt::format("Share of the channels of each head, from the first, that are rotated; auto is {}.",
                    joined(shared(rotary_fraction, has_rotary_positions), "or"));
    const auto* const by_parts = layout::name_of(spec::RopeScalingKind::by_parts);
    Names scalings;
    for (const auto kind : layout::rope_scaling_kinds) {
        scalings.emplace_back(layout::name_of(kind));
    }
    texts.rope_scalings = fmt::format("{}", fmt::join(scalings, " "));
    texts.rope_scaling = fmt::format(
        "linear divides all angles by factor; {} divides low frequencies only, and interpolates medium ones; "
        "yarn does the same by pairs of channels, with attention_factor; longrope divides each pair's angle "
        "by a factor of its own; dynamic scales sequences beyond model.max_seq only, so none of a run.",
        by_parts);
    texts.rope_factor = fmt::format(
        "Divisor of the rotation angles. longrope: longest sequence / original_max_seq, for "
        "attention_factor. "
        "dynamic: only exported models use it. All kinds but linear and {} need it.",
        by_parts);
    texts.low_freq_factor = fmt::format(
        "{}: angles with a period above original_max_seq / (this value) tokens are divided by the full "
        "factor.",
        by_parts);
    texts.high_freq_factor = fmt::format(
        "{}: angles with a period below original_max_seq / (this value) tokens are not scaled.", by_parts);
    texts.original_max_seq = fmt::format(
        "{}, yarn and longrope: the maximum sequence length of pretraining. yarn and longrope need it.",
        by_parts);
    texts.dropout =
        fmt::format("Rate for the embedding, the attention weights and both branches of a layer; {} only.",
                    joined(names_of(has_dropout), "and"));
    texts.head_dim = fmt::format("Channels of a head; auto is hidden / heads. Another value is for {} only.",
                                 joined(names_of(has_own_head_dim), "and"));
    texts.no_rope_interval = fmt::format(
        "Layers n, 2n, 3n ... (from 1) have no rotary positions; auto is {}, and none in other families.",
        joined(shared(no_rope_interval, can_leave_rope_out), "or"));
    texts.window = fmt::format(
        "Number of tokens to which a token attends, with itself; none is all tokens before it. {} only.",
        joined(names_of(has_window), "and"));
    texts.full_attention_interval =
        fmt::format("Layers n, 2n, 3n ... (from 1) have no window; none: all layers have it. {} only.",
                    joined(names_of(has_window), "and"));
    texts.window_rope_theta = fmt::format(
        "Base of the rotary frequencies of layers with a window, which rope_scaling does not change; auto is "
        "{}. {} only.",
        joined(shared(window_rope_theta, has_window_theta), "or"), joined(names_of(has_window_theta), "and"));
    texts.bias = fmt::format(
        "The products of queries, keys and values add a bias; {} only. Other families have a fixed choice.",
        joined(names_of(has_optional_biases), "and"));
    texts.attention_scale =
        fmt::format("Factor of attention's scores; auto is 1 / sqrt(head_dim). Another value is for {} only.",
                    joined(names_of(has_attention_scale), "and"));
    texts.multiplier = fmt::format("Constant factors of parts of the model; {} only.",
                                   joined(names_of(has_multipliers), "and"));
    texts.softcap =
        fmt::format("Soft caps: x becomes cap tanh(x / cap); auto is {} for attention and logits. {} only.",
                    joined(shared(softcap, has_softcap), "or"), joined(names_of(has_softcap), "and"));
    return texts;
}

}  // namespace

std::string families_or(bool (*has)(const FamilyDescriptor&)) {
    return joined(names_of(has), "or");
}

std::string all_families_or() {
    return families_or(is_any);
}

const FamilyTexts& family_texts() {
    static const FamilyTexts texts = make();
    return texts;
}

}  // namespace ziggurat::deck
