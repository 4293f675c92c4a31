/// A family of models as data: what its layers are made of and what a deck may say of it.
///
/// Each family has one file, family_<name>.cpp, with its descriptor; families.cpp lists them. Words and
/// sentences of the deck's schema, defaults, rules and their messages, presets, units and counts all come
/// from the descriptors: nothing else names a family, which scripts/check_families.py sees to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "layout/family.hpp"
#include "layout/published.hpp"

namespace ziggurat::layout {

/// A published model: the keys of `model` that its name stands for.
struct Preset {
    const char* name;
    spec::Model model;
};

/// Origin of a model's knowledge of positions.
enum class Positions {
    learned,  ///< a table with a row for each position
    rotary,   ///< queries and keys are turned by angles
};

struct FamilyDescriptor {
    const char* name;  ///< `model.family`
    const char* doc;   ///< its layers in a few words, for the deck's reference
    NormKind norm = NormKind::layer_norm;
    Positions positions = Positions::learned;
    double rotary_fraction = 1;        ///< default of model.rotary_fraction
    bool has_grouped_queries = false;  ///< model.kv_heads may be fewer than model.heads
    bool has_dropout = false;
    bool ties_embeddings = false;  ///< default of model.tie_embeddings
    /// Default of model.ffn_hidden by model.hidden, and its formula.
    std::int64_t (*usual_ffn_hidden)(std::int64_t hidden) = nullptr;
    const char* usual_ffn_formula = "";
    /// One decoder layer, as one rank of a tensor axis of degree `tensor` sees it.
    Unit (*layer)(const spec::Model& model, int layer, int tensor, bool sequence) = nullptr;
    std::vector<Preset> presets;
    /// Word of model.rope_scaling.kind for scaling by parts, of the family that brought it.
    const char* scaling_by_parts = nullptr;
    Published published;  ///< how others name and keep it

    bool has_rotary_positions() const noexcept { return positions == Positions::rotary; }
};

/// All families, in the order in which they are named.
std::span<const FamilyDescriptor* const> families();

/// The family of that name; none when there is no such family.
const FamilyDescriptor* find_family(std::string_view name);

/// The family of `model`.
/// Errors: contract, when there is no such family
const FamilyDescriptor& family_of(const spec::Model& model);

/// Word of model.rope_scaling.kind, as config.json has it too: `none`, `linear` ...
const char* name_of(spec::RopeScalingKind kind);

/// The model of a preset of any family; none when there is no such preset.
const spec::Model* find_preset(std::string_view name);

}  // namespace ziggurat::layout
