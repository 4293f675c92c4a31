/// Structure of an HDF5 file: its datasets as read by the HDF5 library.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/hdf5_types.hpp"

namespace ziggurat::storage {

struct Hdf5DatasetInfo {
    Hdf5Type type = Hdf5Type::f32;
    bool is_of_known_type = false;  ///< if false, `type` is not valid
    bool is_virtual = false;
    std::vector<std::int64_t> shape;
    std::int64_t offset_bytes = -1;  ///< offset of contiguous data; -1: the data is not contiguous
    std::int64_t parts = 0;          ///< number of parts of a virtual dataset
    /// Attributes that are lists of integers.
    std::map<std::string, std::vector<std::int64_t>> attributes;

    bool operator==(const Hdf5DatasetInfo&) const = default;
};

/// Bounds of a valid file. A file beyond them is rejected before it costs time.
struct Hdf5Bounds {
    int depth = 8;                   ///< levels of names: 2 for `/group/dataset`
    std::int64_t links = 1'000'000;  ///< number of groups and datasets
};

/// Returns all datasets of a file by their path.
///
/// Only hard links are accepted: other links may lead out of the file.
///
/// The library does not validate what it reads. Use it only for files whose hash was checked before. `path`
/// can be a path in /proc/self/fd.
///
/// Errors: Error{resource}; Error{checkpoint} for a link, an object or a nesting that no checkpoint has
std::map<std::string, Hdf5DatasetInfo> hdf5_structure(const std::string& path, const Hdf5Bounds& bounds = {});

}  // namespace ziggurat::storage
