/// A rank's file of a checkpoint, where some of the state passes by while the file is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "checkpoint/piece.hpp"
#include "checkpoint/shard_file.hpp"
#include "train/step/save_stream.hpp"

namespace ziggurat::train {

/// Home of a source: buffer and offset.
struct HomePlace {
    int buffer = -1;                ///< of the train program
    std::int64_t offset_bytes = 0;  ///< in it
};

/// As checkpoint::write_shard(), with `places` of all sources: what passes goes first, so that updates do not
/// wait; meanwhile what lies in memory; in the end, from home, what has not passed. Leaves the stream,
/// whatever happens.
///
/// Collective: local; on a thread of its own
/// Errors:     as write_shard()
checkpoint::ShardSummary write_streamed_shard(const std::string& folder,
                                              int writer,
                                              std::span<const checkpoint::PieceSource> sources,
                                              std::span<const HomePlace> places,
                                              SaveStream& stream,
                                              const std::atomic<bool>& gives_up);

}  // namespace ziggurat::train
