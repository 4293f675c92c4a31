/// `master.h5`: the checkpoint as one HDF5 file, for people and their tools.
#pragma once

#include <string>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

inline constexpr const char* master_name = "master.h5";

/// Writes `<folder>/master.h5`, in which every tensor has its name and whole shape as a virtual dataset over
/// the shards: /weights/<tensor>, /first_moment/<tensor>, /second_moment/<tensor>; NaN where a shard cannot
/// be found. The deck is the string /deck; format, version, step, tokens, ranks and more are attributes of
/// the root. Flushes it to the disk.
///
/// Errors: Error{resource}; then no file is left
FileEntry write_master(const std::string& folder, const Manifest& manifest);

}  // namespace ziggurat::checkpoint
