/// Structure of an HDF5 file: its datasets, as the library reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/hdf5_types.hpp"

namespace ziggurat::storage {

struct Hdf5DatasetInfo {
    Hdf5Type type = Hdf5Type::f32;
    bool is_of_known_type = false;  ///< else `type` says nothing
    bool is_virtual = false;
    std::vector<std::int64_t> shape;
    std::int64_t offset_bytes = -1;  ///< of contiguous data; -1: none
    std::int64_t parts = 0;          ///< of a virtual dataset
    /// Attributes that are lists of whole numbers.
    std::map<std::string, std::vector<std::int64_t>> attributes;

    bool operator==(const Hdf5DatasetInfo&) const = default;
};

/// All datasets of a file by their path. The library trusts what it reads: only for files whose bytes have
/// been held against their hash. `path` may be one of /proc/self/fd.
///
/// Errors: Error{resource}
std::map<std::string, Hdf5DatasetInfo> hdf5_structure(const std::string& path);

}  // namespace ziggurat::storage
