/// Keys of config.json with a number for each layer.
#pragma once

#include "deck/files/config_reading.hpp"
#include "layout/families/hf_format.hpp"

namespace ziggurat::deck {

/// Records after which number of layers one is special: from the list, or from its interval.
///
/// Errors: added to `reading` if special layers are not evenly spaced
void read_layer_list(ConfigReading& reading, const layout::HfLayerList& list);

}  // namespace ziggurat::deck
