/// Scaling of rotary positions in config.json.
#pragma once

#include "deck/files/position_maps.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {

/// Records the kind of scaling and the keys that it uses.
///
/// Values that transformers 5 computes if the file does not give them are recorded as numbers. Each key of
/// the used map that has no effect there is an error, and so is a key elsewhere with another value.
void read_scaling(ConfigReading& reading, PositionMaps& maps, const layout::FamilyDescriptor& family);

}  // namespace ziggurat::deck
