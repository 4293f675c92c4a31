/// Use of the paths of the NVMe tier by a rank, and detection of one that holds up the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::train {

/// One direction of one path.
struct PathFlow {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    double busy_seconds = 0;  ///< in which at least one block was asked for and had not come

    double bytes_per_second() const noexcept {
        return busy_seconds > 0 ? static_cast<double>(bytes) / busy_seconds : 0;
    }
};

struct PathUse {
    std::string path;
    PathFlow read, written;
};

/// In words, which path is more than three times slower than another in one direction; empty while none is,
/// or too little has moved to say so. Stripes are dealt out evenly, so all wait for it. Pure.
std::string slow_path(std::span<const PathUse> paths);

/// ` '/a'  read 1200 MB/s, written 800 MB/s`, a line for each path of all ranks, in their order: what a rank
/// moves there while anything is under way, mean over the ranks. Empty with fewer than two paths. Pure.
std::string path_table(std::span<const std::vector<PathUse>> ranks);

}  // namespace ziggurat::train
