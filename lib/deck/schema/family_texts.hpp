/// Words and sentences about the families of models, made from their descriptors.
#pragma once

#include <string>

#include "layout/family_descriptor.hpp"

namespace ziggurat::deck {

/// Names of the families that `has` is true of: `gpt2 or llama`.
std::string families_or(bool (*has)(const layout::FamilyDescriptor&));
std::string all_families_or();

/// Parts of the schema's table; words are separated by spaces.
struct FamilyTexts {
    std::string names;     ///< words of model.family
    std::string presets;   ///< words of model.preset
    std::string families;  ///< sentence of model.family, and of the other keys
    std::string ffn_hidden, ties, norm_epsilon, rope_theta, rotary_fraction, dropout;
    std::string rope_scalings;  ///< words of model.rope_scaling.kind
    std::string rope_scaling, low_freq_factor, high_freq_factor, original_max_seq;
};

/// Made once.
const FamilyTexts& family_texts();

}  // namespace ziggurat::deck
