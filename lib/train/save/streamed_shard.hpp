/// Checkpoint shard of a rank that takes state on NVMe from updates while the file is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "checkpoint/piece.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "train/ops/save_stream.hpp"

namespace ziggurat::train {

/// Home of a source: buffer and offset.
struct HomePosition {
    schedule::BufferId buffer = -1;  ///< buffer of the train program
    std::int64_t offset_bytes = 0;   ///< offset in this buffer
};

/// Writes a shard like checkpoint::write_shard(), and takes state on NVMe from `stream`.
///
/// Ranges from the stream are written first, so that updates do not wait. Between them, it writes the sources
/// that are in memory. At the end, it reads the ranges that no update has streamed from their home. It always
/// leaves the stream, also after an error. Ranges that do not ascend are held in memory (see bytes_held).
///
/// \param placements  homes of all sources
/// Collective: local; on its own thread
/// Errors:     those of write_shard()
checkpoint::ShardSummary write_streamed_shard(const std::string& folder,
                                              int writer,
                                              std::span<const checkpoint::PieceSource> sources,
                                              std::span<const HomePosition> placements,
                                              SaveStream& stream,
                                              const std::atomic<bool>& cancel_requested);

}  // namespace ziggurat::train
