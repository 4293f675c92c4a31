/// Checks of a manifest. Readers rely on them; writers run them before COMPLETE is written.
#pragma once

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// Checks that a manifest is consistent.
///
/// Boxes lie within their tensors and cover each tensor exactly once. Byte ranges lie within files and do not
/// overlap. File names are valid. Numbers are within ManifestLimits, and counters agree with each other.
/// Takes time linear in the number of pieces.
///
/// Errors: std::invalid_argument with the failed check
void check_manifest(const Manifest& manifest);

}  // namespace ziggurat::checkpoint
