/// Shard files, one per writer of a checkpoint: plain HDF5, with data at offsets assigned by HDF5.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::checkpoint {

/// Number of bytes that one hash covers.
inline constexpr std::int64_t hash_block_bytes = layout::hash_block_bytes;

/// Description of a written shard, for COMPLETE.
struct ShardSummary {
    FileEntry entry;
    std::vector<StoredPiece> pieces;  ///< `file` is not set yet
    double seconds = 0;
    std::int64_t bytes_written = 0;
};

/// Returns `shard-00003.h5`.
std::string shard_name(int writer);

/// Returns the exact bytes that `write_shard` will use on disk, for the check of free space.
///
/// The first call must come from the MPI main thread: it initializes HDF5, and a parallel build of HDF5 then
/// calls MPI.
std::int64_t shard_bytes(std::span<const PieceSource> sources);

/// Writes `<folder>/shard-NNNNN.h5` and flushes it to the disk (fsync).
///
/// Local: no MPI, may run on its own thread.
///
/// Each source becomes one contiguous dataset /<kind>/<tensor>/<number of the box within this file> with
/// attributes `shape` and `begin`. The dataset `<number>.xxh3` holds the XXH3-64 of each block. Uses O_DIRECT
/// if the file system supports it. `sources` must not change during the call, and no box is empty.
/// `request_cancel` is polled between blocks; once it is set, the call fails with an error.
///
/// Errors: Error{resource} with path, offset and the system's reason (disk full, I/O, aborted); the file is
/// then removed
ShardSummary write_shard(const std::string& folder,
                         int writer,
                         std::span<const PieceSource> sources,
                         const std::atomic<bool>* request_cancel = nullptr);

/// Fault injection for tests, global to this process; production code does not set it.
///
/// Called before each write, reservation, flush and rename of a checkpoint with path, offset and bytes (0 if
/// not applicable). The result is used as errno of the operation (0: no fault).
using WriteFault = int (*)(const char* path, std::int64_t offset_bytes, std::int64_t bytes);
void set_write_fault(WriteFault fault) noexcept;

}  // namespace ziggurat::checkpoint
