/// A family of models as data: the structure of its layers and the deck keys that it supports.
///
/// Each family has one file, family_<name>.cpp, with its descriptor; families.cpp lists them. Keywords and
/// texts of the deck's schema, defaults, rules and their messages, presets, units and counts all come from
/// the descriptors. No other file names a family; scripts/check_families.py checks this.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "layout/families/family.hpp"
#include "layout/families/hf_format.hpp"

namespace ziggurat::layout {

/// A published model: the `model` keys that its name selects.
struct Preset {
    const char* name;
    spec::Model model;
};

/// Kind of position encoding.
enum class Positions {
    learned,  ///< a table with a row for each position
    rotary,   ///< queries and keys are rotated by angles
};

struct FamilyDescriptor {
    const char* name;  ///< `model.family`
    const char* doc;   ///< short description of its layers, for the deck's reference
    NormKind norm = NormKind::layer_norm;
    double gain_offset = 0;  ///< added to each gain of its norms, whose initial value is then 1 - gain_offset
    Positions positions = Positions::learned;
    double rotary_fraction = 1;        ///< default of model.rotary_fraction
    bool has_grouped_queries = false;  ///< model.kv_heads may be fewer than model.heads
    bool has_dropout = false;
    /// The rows of the token table are multiplied by sqrt(hidden), rounded to precision.compute.
    bool scales_embedding = false;
    bool ties_embeddings = false;      ///< default of model.tie_embeddings
    bool has_optional_biases = false;  ///< model.bias may be set
    bool has_window = false;           ///< model.window may be set
    double window_rope_theta = 0;      ///< default of model.window_rope_theta; 0: it cannot be set
    bool has_attention_scale = false;  ///< model.attention_scale may be set
    bool has_multipliers = false;      ///< model.multiplier may be set
    spec::Softcap softcap = {};        ///< default of model.softcap; zeros: it cannot be set
    bool has_own_head_dim = false;     ///< model.head_dim may differ from hidden / heads
    int no_rope_interval = -1;         ///< default of model.no_rope_interval; -1: it cannot be set
    /// Default of model.ffn_hidden as a function of model.hidden, and its formula as text.
    std::int64_t (*usual_ffn_hidden)(std::int64_t hidden) = nullptr;
    const char* usual_ffn_formula = "";
    /// Returns one decoder layer for one rank of a tensor axis of degree `tensor`.
    Unit (*layer)(const spec::Model& model, int layer, const TensorSplit& split) = nullptr;
    std::vector<Preset> presets;
    /// Keyword of model.rope_scaling.kind for scaling by parts; named after the family that introduced it.
    const char* scaling_by_parts = nullptr;
    Published published;  ///< its Hugging Face format

    bool has_rotary_positions() const noexcept { return positions == Positions::rotary; }

    bool has_softcap() const noexcept { return softcap != spec::Softcap{}; }

    /// Returns true if models of this family can scale their positions by `kind`.
    bool scales_by(spec::RopeScalingKind kind) const;
};

/// Returns all families, in the order in which they are listed.
std::span<const FamilyDescriptor* const> families();

/// Returns the family of that name; nullptr if it does not exist.
const FamilyDescriptor* find_family(std::string_view name);

/// Returns the family of `model`.
///
/// Errors: contract, if it does not exist
const FamilyDescriptor& family_of(const spec::Model& model);

/// Returns the model of a preset of any family; nullptr if the preset does not exist.
const spec::Model* find_preset(std::string_view name);

}  // namespace ziggurat::layout
