/// Windows of attention in config.json, in all spellings of the versions of transformers.
#pragma once

#include "deck/files/config_reading.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {

/// Records the window of a family that has one, and the layers that have it.
///
/// In families whose class reads `layer_types`, this list selects the layers. Without it, the number of first
/// layers without a window does, or the interval of such layers. Only three patterns can be recorded: all
/// layers have the window, none has it, or each layer except every n-th.
///
/// Errors: added to `reading` for another pattern, and for a window in a family without windows
///
/// Source: Qwen2Config and Gemma3TextConfig of transformers 5; MistralConfig and Phi3Config have one window
/// for all layers
void read_window(ConfigReading& reading, const layout::FamilyDescriptor& family);

}  // namespace ziggurat::deck
