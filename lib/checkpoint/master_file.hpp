/// `master.h5`: the checkpoint as one HDF5 file, for HDF5 tools.
#pragma once

#include <string>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

inline constexpr const char* master_name = "master.h5";

/// Writes `<folder>/master.h5` and flushes it to the disk.
///
/// Every tensor is a virtual dataset over the shards, with its name and whole shape: /weights/<tensor>,
/// /first_moment/<tensor>, /second_moment/<tensor>. Elements are NaN if their shard cannot be found. The deck
/// is the string /deck. Format, version, step, tokens, ranks and more are attributes of the root.
///
/// Errors: Error{resource}; then the file is removed
FileEntry write_master(const std::string& folder, const Manifest& manifest);

}  // namespace ziggurat::checkpoint
