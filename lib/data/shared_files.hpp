/// Files that are both trained on and validated.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::data {

/// A file of a validation, and one that is trained on.
struct SharedFile {
    std::size_t validated = 0;  ///< its place among the files of validation
    std::size_t trained = 0;    ///< its place among those of training
    bool is_copy = false;       ///< two files of the same bytes; else one file, whatever it is called

    bool operator==(const SharedFile&) const = default;
};

/// The files of `validated` that are trained on too, in their order, each with the first such file.
///
/// One file is known by its device and inode, so that links and other names of it count. Files of one size
/// are compared by their first page, and where these agree by their fingerprints (data/fingerprint.hpp): of
/// shards that are all of one size no more than that page is read.
///
/// Errors: Error{deck} when a file of equal size cannot be read
std::vector<SharedFile> find_shared_files(std::span<const std::string> validated,
                                          std::span<const std::string> trained);

}  // namespace ziggurat::data
