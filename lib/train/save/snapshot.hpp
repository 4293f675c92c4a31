/// Snapshot of the state that a rank writes into a checkpoint: live memory, or a copy of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/piece.hpp"
#include "train/save/streamed_shard.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

/// Pieces that this rank saves, and their copy in the program's buffer `snapshot` if it has one.
///
/// Frozen parameters are not copied, because they never change. State on NVMe is not copied either.
/// Collective: local
class Snapshot {
  public:
    /// Touches the pages of the copy, so that the first save is not slowed down by page faults.
    explicit Snapshot(const StateView& state);
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

    /// Returns true if the program has a snapshot buffer: the run saves asynchronously.
    bool has_copy() const noexcept { return has_copy_; }
    /// Copies the current state into the snapshot buffer.
    ///
    /// \pre has_copy()
    /// Async: host copies are spread over the host's threads; all copies are complete on return
    void take();
    /// Waits until live() contains the results of all completed steps. Collective: over all ranks
    void drain() const { state_.drain(); }

    /// Returns the pieces as take() copied them. Pieces that are not copied are the same as in live().
    ///
    /// Pieces on NVMe are read from their home.
    std::span<const checkpoint::PieceSource> copied() const noexcept { return copied_; }
    /// Returns the homes of the pieces, in the order of copied() and live().
    std::span<const HomePosition> placements() const noexcept { return places_; }
    /// Returns the pieces in the memory that training uses.
    std::span<const checkpoint::PieceSource> live() const noexcept { return live_; }
    /// Returns the total bytes of all pieces.
    std::int64_t payload_bytes() const noexcept { return payload_bytes_; }

  private:
    struct CopyRange {
        const device::Stream* stream;  ///< stream of the processor that holds the source
        std::byte* to;
        const std::byte* from;
        std::int64_t bytes;
    };

    StateView state_;
    device::Stream device_stream_;
    bool has_copy_ = false;
    std::vector<CopyRange> to_copy_;
    std::vector<checkpoint::PieceSource> live_;
    std::vector<checkpoint::PieceSource> copied_;
    std::vector<HomePosition> places_;
    std::int64_t payload_bytes_ = 0;
};

}  // namespace ziggurat::train
