/// Sizes of buffers outside of the tiers through which state is saved, loaded and exchanged.
///
/// Code that allocates these buffers and plans that count them use the same functions.
#pragma once

#include <cstdint>

namespace ziggurat::layout {

/// Equal buffers for transfers that are in flight at the same time.
struct TransferBuffers {
    std::int64_t bytes = 0;  ///< of one buffer
    std::int64_t count = 0;

    std::int64_t total() const noexcept { return bytes * count; }
};

/// Bytes of a checkpoint's piece that one hash covers, and that are read at a time.
inline constexpr std::int64_t hash_block_bytes = std::int64_t{4} << 20;
/// Minimum size of a shard for which a second thread writes.
inline constexpr std::int64_t two_writers_bytes = std::int64_t{64} << 20;
/// Minimum number of blocks of a shard for which a second thread reads.
inline constexpr std::int64_t two_readers_blocks = 8;
/// Window through which ranks replicate loaded state.
inline constexpr std::int64_t replication_window_bytes = std::int64_t{4} << 20;
/// Bytes of a box of a published model that are read at a time, in the target's type.
inline constexpr std::int64_t import_window_bytes = std::int64_t{8} << 20;
/// Window through which state on NVMe is read and written outside of steps.
inline constexpr std::int64_t nvme_window_bytes = std::int64_t{4} << 20;

/// Returns the buffers of one thread that writes a shard file of this size.
TransferBuffers writer_buffers(std::int64_t shard_bytes);
/// Returns the bytes of these buffers for all threads that write the shard.
std::int64_t writer_staging_bytes(std::int64_t shard_bytes);

/// Minimum size of a write of whole pages.
///
/// Fewer bytes are copied and written together with their neighbours.
inline constexpr std::int64_t min_transfer_bytes = std::int64_t{64} << 10;
/// Returns the bytes of a piece that its writer copies: small pieces, and the ends of blocks.
std::int64_t kept_bytes(std::int64_t piece_bytes);

/// Returns the buffers of one thread that reads ranges of up to `range_bytes`.
TransferBuffers reader_buffers(std::int64_t range_bytes);
/// Returns the bytes of these buffers for all threads that read a shard file.
///
/// \param blocks  number of blocks of hash_block_bytes of its pieces, with smaller last ones
std::int64_t reader_staging_bytes(std::int64_t blocks, std::int64_t largest_piece_bytes);

/// Staging memory of sums that are exchanged as messages.
struct MessageStaging {
    static constexpr std::int64_t largest_piece_bytes = 256 * 1024;
    static constexpr std::int64_t smallest_piece_bytes = 4 * 1024;
    static constexpr std::int64_t depth = 2;  ///< pieces of a block received ahead of their sum
    /// Sums of a group that receive at a time; later ones queue.
    static constexpr std::int64_t calls_at_a_time = 2;
    static constexpr std::int64_t bytes_per_call = 4 * 1024 * 1024;

    /// Returns the size of a piece. It is the same on all members, so their messages match.
    static std::int64_t piece_bytes(int size);
    /// Returns the bytes that each member of a group of `size` members reserves for sums.
    ///
    /// They are reserved when the first sum is prepared.
    static std::int64_t bytes(int size);
};

}  // namespace ziggurat::layout
