/// Statistics of the NVMe paths of a rank, and detection of a path that slows down the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::train {

/// Statistics of one direction of one path.
struct PathFlow {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    double busy_seconds = 0;  ///< time in which at least one block was in flight

    double bytes_per_second() const noexcept {
        return busy_seconds > 0 ? static_cast<double>(bytes) / busy_seconds : 0;
    }
};

struct NvmePathStats {
    std::string path;
    PathFlow read, written;
};

/// Describes a path that is more than three times slower than another path in one direction. Pure.
///
/// It is empty if there is no such path, or if too few bytes were transferred. Stripes are distributed evenly
/// over the paths, so all transfers wait for the slow path.
std::string slow_path(std::span<const NvmePathStats> paths);

/// Returns a line ` '/a'  read 1200 MB/s, written 800 MB/s` for each path of all ranks.
///
/// The lines are in the order of the paths. The rate is that of a rank while it has transfers in flight on
/// the path, averaged over the ranks. The table is empty with fewer than two paths. Pure.
std::string path_table(std::span<const std::vector<NvmePathStats>> ranks);

}  // namespace ziggurat::train
