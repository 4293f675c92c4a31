/// Texts about model families, generated from their descriptors.
#pragma once

#include <string>

#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {

/// Returns the names of the families for which `has` is true: `gpt2 or llama`.
std::string families_or(bool (*has)(const layout::FamilyDescriptor&));
std::string all_families_or();

/// Parts of the schema table; keywords are separated by spaces.
struct FamilyTexts {
    std::string names;     ///< keywords of model.family
    std::string presets;   ///< keywords of model.preset
    std::string families;  ///< text of model.family; the following ones are those of other keys
    std::string ffn_hidden, ties, norm_epsilon, rope_theta, rotary_fraction, dropout, head_dim,
        no_rope_interval, window, full_attention_interval, window_rope_theta, bias, attention_scale,
        multiplier, softcap;
    std::string rope_scalings;  ///< keywords of model.rope_scaling.kind
    std::string rope_scaling, rope_factor, low_freq_factor, high_freq_factor, original_max_seq;
};

/// Returns the texts, which are generated once.
const FamilyTexts& family_texts();

}  // namespace ziggurat::deck
