/// Check of the HDF5 structure of a shard file against COMPLETE.
#pragma once

#include <vector>

#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// Appends defects: datasets that are missing, superfluous, or have another shape, type or offset.
///
/// \pre the bytes of the file outside of pieces match their hash
void check_structure(const CheckpointFiles& files,
                     const Manifest& manifest,
                     std::size_t file,
                     std::vector<Defect>& defects);

}  // namespace ziggurat::checkpoint
