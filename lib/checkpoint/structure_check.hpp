/// Check of the HDF5 structure of a shard file against COMPLETE.
#pragma once

#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/held_files.hpp"
#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

/// Appends what differs: a dataset that is missing, of another shape or type, at another place, or one too
/// many. Only for a file whose bytes outside of pieces have been held against their hash.
void check_structure(const HeldFiles& files,
                     const Manifest& manifest,
                     std::size_t file,
                     std::vector<Damage>& damages);

}  // namespace ziggurat::checkpoint
