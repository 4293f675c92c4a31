/// Types of the values in config.json, as the classes of transformers 5 check them.
#pragma once

#include "deck/files/config_reading.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {

/// Returns true if the class of transformers 5 accepts the types in config.json.
///
/// Lists with an entry for each layer need the right number of entries. So a value of another type is not
/// read as something that it does not mean elsewhere: 4.0 as a whole number, 1 as true, null as false.
///
/// Errors: added to `reading`
///
/// Source: huggingface_hub.dataclasses.strict; the methods validate_* of PreTrainedConfig
bool check_types(ConfigReading& reading, const layout::FamilyDescriptor& family);

}  // namespace ziggurat::deck
