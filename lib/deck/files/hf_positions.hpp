/// Rotary positions in config.json, in all spellings of the versions of transformers.
#pragma once

#include "deck/files/config_reading.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {

/// Deck key of the theta of layers with a window.
inline constexpr const char* window_theta_key = "model.window_rope_theta";

/// Records base, share of channels and scaling for a family with rotary positions.
///
/// The values are those of transformers 5. It reads the map rope_scaling or, without one, rope_parameters;
/// then the keys outside of them; then defaults. If a key elsewhere in the file has another value, an error
/// is added, because other versions read that one.
///
/// Source: RotaryEmbeddingConfigMixin.convert_rope_params_to_dict of transformers 5, and its override in
/// GPTNeoXConfig
void read_positions(ConfigReading& reading, const layout::FamilyDescriptor& family);

}  // namespace ziggurat::deck
