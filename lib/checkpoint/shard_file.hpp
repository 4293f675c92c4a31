/// Shard files, one for each writer of a checkpoint: plain HDF5, with data at the offsets that HDF5 has set.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"

namespace ziggurat::checkpoint {

/// Bytes that one hash covers.
inline constexpr std::int64_t hash_block_bytes = std::int64_t{4} << 20;

/// Facts about a written shard, for COMPLETE.
struct ShardSummary {
    FileEntry entry;
    std::vector<StoredPiece> pieces;  ///< `file` is not set yet
    double seconds = 0;
    std::int64_t bytes_written = 0;
};

/// `shard-00003.h5`.
std::string shard_name(int writer);

/// The bytes that `write_shard` will take on disk, exactly: for the check of free space. Called once by the
/// thread that MPI knows, it also starts HDF5, of which a parallel build asks MPI things then.
std::int64_t shard_bytes(std::span<const PieceSource> sources);

/// Writes `<folder>/shard-NNNNN.h5` with one contiguous dataset for each source,
/// /<kind>/<tensor>/<number of the box within this file>, attributes `shape` and `begin`, and beside it
/// `<number>.xxh3`, the XXH3-64 of each block; flushes it to the disk (fsync). Uses O_DIRECT where the file
/// system has it. Local: no MPI, may run on a thread of its own; `sources` stay as they are meanwhile. No box
/// is empty. `give_up` is looked at between blocks; once it is set, saving ends with an error.
///
/// Errors: Error{resource} with path, offset and the system's reason (disk full, I/O, given up); nothing of
/// the file is left behind
ShardSummary write_shard(const std::string& folder,
                         int writer,
                         std::span<const PieceSource> sources,
                         const std::atomic<bool>* give_up = nullptr);

/// A way for tests to let writing fail, whatever of a checkpoint is written: called before each write,
/// reservation, flush and rename with path, offset and bytes (0 where there are none); what it returns is
/// taken for the system's errno (0: go on). Of this process; nothing in production sets it.
using WriteFault = int (*)(const char* path, std::int64_t offset_bytes, std::int64_t bytes);
void set_write_fault(WriteFault fault) noexcept;

}  // namespace ziggurat::checkpoint
