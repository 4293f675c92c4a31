/// Rotary positions in config.json, in all spellings that versions of transformers have used.
#pragma once

#include "deck/files/config_reading.hpp"
#include "layout/family_descriptor.hpp"

namespace ziggurat::deck {

/// Records base, share of channels and scaling of a family with rotary positions.
///
/// They are what transformers 5 computes: it reads the map rope_scaling or, without one, rope_parameters;
/// then the keys outside; then defaults. A key elsewhere in the file with another value is a complaint:
/// other versions read that one.
///
/// Source: RotaryEmbeddingConfigMixin.convert_rope_params_to_dict of transformers 5, and its override in
/// GPTNeoXConfig
void read_positions(ConfigReading& reading, const layout::FamilyDescriptor& family);

}  // namespace ziggurat::deck
