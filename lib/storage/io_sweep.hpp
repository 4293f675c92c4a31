/// Measurement of disk speed for several block sizes and queue depths.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ziggurat::storage {

struct SweepPoint {
    std::int64_t block_bytes = 0;
    int depth = 0;  ///< blocks in flight, over all folders
    double read_rate = 0;
    double write_rate = 0;  ///< bytes per second, as read_rate
};

struct SweepOptions {
    std::vector<std::string> folders;                 ///< one folder on each disk
    std::int64_t file_bytes = std::int64_t{1} << 30;  ///< size of the file in each folder
    std::vector<std::int64_t> block_bytes = {1 << 16, 1 << 18, 1 << 20, 1 << 22};
    std::vector<int> depths = {1, 2, 4, 8, 16, 32, 64};
    double seconds = 0.5;  ///< duration of each measurement; it ends earlier after a whole file
    /// Called before each measurement with the number of completed and of all measurements; may be empty.
    std::function<void(int done, int all)> progress = {};
};

struct Sweep {
    std::vector<SweepPoint> points;
    SweepPoint best;                 ///< measured again, over whole files
    std::vector<std::string> notes;  ///< folders without direct access to a disk, with the reason
};

/// Measures every pair of block size and depth, alternating reads and writes.
///
/// It uses files without names, which are written before. The system deletes them when the process ends, for
/// any reason.
///
/// Errors: Error{resource} with path and reason
Sweep sweep(const SweepOptions& options);

/// Measures one pair of block size and depth, with sufficient accuracy for a plan.
///
/// The result is the median of five measurements of 0.1 s in each direction, because disks pause now and
/// then. It uses at most 64 MiB in each folder and 8 MiB in flight; block size and depth are reduced to fit.
/// The bytes that are read have just been written. Both rates are 0 if a folder has no direct access to a
/// disk.
///
/// Errors: Error{resource} with path and reason
SweepPoint probe(const std::vector<std::string>& folders, std::int64_t block_bytes, int depth);

/// Returns the pair with the fewest bytes in flight that reads and writes within 2 % of the best rates.
///
/// If several pairs qualify, it is the one with the smallest block. If no pair qualifies, it is the pair
/// whose lower share of the best rates is largest.
///
/// \pre not empty
SweepPoint choose_point(const std::vector<SweepPoint>& points);

}  // namespace ziggurat::storage
