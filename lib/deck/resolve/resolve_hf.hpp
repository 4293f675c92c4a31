/// Keys of `model` from the config.json of a published model.
#pragma once

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// Sets the keys of `model` from config.json in model.init.path if model.init.from is hf.
///
/// Reports keys that the deck sets to other values, and unsupported settings. Longer sequences than the
/// published ones are allowed if positions are not learned.
void apply_published_config(Resolution& resolution);

}  // namespace ziggurat::deck
