/// Files that are both trained on and validated.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/stop_check.hpp"

namespace ziggurat::data {

/// A validation file and the training file that it equals.
struct SharedFile {
    std::size_t validated = 0;  ///< index among the validation files
    std::size_t trained = 0;    ///< index among the training files
    bool is_copy = false;       ///< two files with equal bytes; else one file, possibly under two names

    bool operator==(const SharedFile&) const = default;
};

/// Returns the files of `validated` that are also trained on, in order, each with the first such file.
///
/// Files are identified by device and inode, so links and other names of a file count. Files of equal size
/// are compared by their first page, and if these agree by their fingerprints (data/fingerprint.hpp). If all
/// shards have one size, only that page of each is read.
///
/// Errors: Error{deck} if a file of equal size cannot be read; Stopped
std::vector<SharedFile> find_train_validation_overlap(std::span<const std::string> validated,
                                                      std::span<const std::string> trained,
                                                      const StopCheck& stop = {});

}  // namespace ziggurat::data
