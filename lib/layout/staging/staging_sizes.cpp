#include "layout/staging/staging_sizes.hpp"

#include <algorithm>

#include "base/pages.hpp"

namespace ziggurat::layout {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

// Small enough for copied bytes to be still in a cache when they are written.
constexpr std::int64_t writer_buffer_bytes = mebibyte;
constexpr std::int64_t writer_depth = 8;

/// Bytes in flight per reader: enough to saturate a disk with two readers, at most what a save uses.
constexpr std::int64_t reader_bytes_in_flight = 8 * mebibyte;
constexpr std::int64_t min_reader_buffer_bytes = std::int64_t{64} << 10;
constexpr std::int64_t min_reader_depth = 2;  // one transfer arrives while the other is processed
constexpr std::int64_t max_reader_depth = 8;

}  // namespace

TransferBuffers writer_buffers(std::int64_t shard_bytes) {
    return {std::min(writer_buffer_bytes, round_up_to_page(shard_bytes)), writer_depth};
}

std::int64_t writer_staging_bytes(std::int64_t shard_bytes) {
    return (shard_bytes < two_writers_bytes ? 1 : 2) * writer_buffers(shard_bytes).total();
}

std::int64_t kept_bytes(std::int64_t piece_bytes) {
    const auto blocks = (piece_bytes + hash_block_bytes - 1) / hash_block_bytes;
    return piece_bytes < min_transfer_bytes ? piece_bytes : blocks * page_bytes;
}

TransferBuffers reader_buffers(std::int64_t range_bytes) {
    const auto bytes = round_up_to_page(std::max(range_bytes, min_reader_buffer_bytes)) + page_bytes;
    return {bytes, std::clamp(reader_bytes_in_flight / bytes, min_reader_depth, max_reader_depth)};
}

std::int64_t reader_staging_bytes(std::int64_t blocks, std::int64_t largest_piece_bytes) {
    const auto of_thread = reader_buffers(std::min(largest_piece_bytes, hash_block_bytes)).total();
    return (blocks < two_readers_blocks ? 1 : 2) * of_thread;
}

std::int64_t MessageStaging::piece_bytes(int size) {
    const std::int64_t peers = std::max(size - 1, 1);
    const std::int64_t share = round_down_to_page(bytes_per_call / (depth * peers));
    return std::clamp(share, smallest_piece_bytes, largest_piece_bytes);
}

std::int64_t MessageStaging::bytes(int size) {
    return calls_at_a_time * depth * (size - 1) * piece_bytes(size);
}

}  // namespace ziggurat::layout
