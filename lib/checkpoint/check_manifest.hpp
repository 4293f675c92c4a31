/// Checks of a manifest: everything that readers rely on, and that writers hold before COMPLETE is there.
#pragma once

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// Boxes lie within their tensors and cover each exactly once, bytes lie within files and no two pieces or
/// tables share any, names of files are names, numbers are within ManifestLimits, and what was counted does
/// not contradict itself. Takes time like the number of pieces.
///
/// Errors: std::invalid_argument that says which does not
void check_manifest(const Manifest& manifest);

}  // namespace ziggurat::checkpoint
