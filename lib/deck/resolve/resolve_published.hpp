/// Keys of `model` from the config.json of a published model.
#pragma once

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// Where model.init.from is hf: fills the keys of `model` from config.json in model.init.path, as a preset
/// does, and complains of each that the deck says otherwise, and of what is not built. Positions beyond those
/// that the model was published with may be asked for where none are learned.
void apply_published_config(Resolution& resolution);

}  // namespace ziggurat::deck
