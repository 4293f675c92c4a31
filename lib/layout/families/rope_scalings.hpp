/// Kinds of scaled rotary positions: their names, and the keys of model.rope_scaling that each uses.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// All kinds, in the order in which they are listed.
inline constexpr std::array rope_scaling_kinds{
    spec::RopeScalingKind::none, spec::RopeScalingKind::linear,   spec::RopeScalingKind::by_parts,
    spec::RopeScalingKind::yarn, spec::RopeScalingKind::longrope, spec::RopeScalingKind::dynamic};

/// Returns the keyword of model.rope_scaling.kind, which config.json also uses: `none`, `linear` ...
const char* name_of(spec::RopeScalingKind kind);

/// Returns the kind with that keyword; nullopt if it does not exist.
std::optional<spec::RopeScalingKind> find_rope_scaling(std::string_view name);

/// Returns true if the kind uses a key of model.rope_scaling: `beta_fast`. All kinds use `kind`.
bool uses_key(spec::RopeScalingKind kind, std::string_view key);

}  // namespace ziggurat::layout
