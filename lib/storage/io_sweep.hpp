/// Sweep of a disk's speed over block sizes and queue depths.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ziggurat::storage {

struct SweepPoint {
    std::int64_t block_bytes = 0;
    int depth = 0;  ///< blocks under way, over all folders
    double read_rate = 0;
    double write_rate = 0;  ///< bytes per second
};

struct SweepOptions {
    std::vector<std::string> folders;                 ///< one on each disk
    std::int64_t file_bytes = std::int64_t{1} << 30;  ///< in each folder
    std::vector<std::int64_t> block_bytes = {1 << 16, 1 << 18, 1 << 20, 1 << 22};
    std::vector<int> depths = {1, 2, 4, 8, 16, 32, 64};
    double seconds = 0.5;  ///< of each measurement; it is over sooner when a whole file has moved
    /// Called before each measurement with what is done and what there is to do; may be nothing.
    std::function<void(int done, int all)> progress = {};
};

struct Sweep {
    std::vector<SweepPoint> points;
    SweepPoint best;                 ///< measured once more, over whole files
    std::vector<std::string> notes;  ///< folders that are not what a disk should be, with the reason
};

/// Measures every pair of block and depth, reads and writes in turn, over files without names that were
/// written before: they are gone when the process ends, however it does.
///
/// Errors: Error{resource} with path and reason
Sweep sweep(const SweepOptions& options);

/// The same for one pair alone, good enough to plan with: the median of five times 0.1 s each way, as disks
/// stop now and then; at most 64 MiB in each folder and 8 under way, for which blocks and depth become
/// smaller. What is read has just been written. Both rates are 0 where a folder is not what a disk should be.
///
/// Errors: Error{resource} with path and reason
SweepPoint probe(const std::vector<std::string>& folders, std::int64_t block_bytes, int depth);

/// The pair with the fewest bytes under way, and of those the smallest block, among those that read and
/// write within 2 % of the best; with none, the pair whose worse share of the best is largest.
///
/// \pre not empty
SweepPoint choose_point(const std::vector<SweepPoint>& points);

}  // namespace ziggurat::storage
