/// Snapshot of the state that a rank writes into a checkpoint: its place in memory, or a copy
/// that training does not touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/piece.hpp"
#include "train/save/streamed_shard.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

/// The pieces that this rank saves, and the program's buffer `snapshot` where it has one.
///
/// Frozen parameters never change: of them there is no copy. Neither is there of what lies on NVMe.
/// Collective: local
class Snapshot {
  public:
    /// Touches the memory of the copy, so that the first save is not the one that pays for it.
    explicit Snapshot(const HeldState& state);
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

    /// The run saves beside training.
    bool has_copy() const noexcept { return has_copy_; }
    /// Copies the state as it is now.
    ///
    /// \pre has_copy()
    /// Async: what the host copies is spread over its threads; done on return
    void take();
    /// Returns when live() is what the steps done have made of it. Collective: over all ranks
    void drain() const { state_.drain(); }

    /// Of take(); where nothing is copied the same as live(). What lies on NVMe is where it is at home.
    std::span<const checkpoint::PieceSource> copied() const noexcept { return copied_; }
    /// Homes of the pieces, in the order of copied() and live().
    std::span<const HomePlace> places() const noexcept { return places_; }
    /// The pieces where training works on them.
    std::span<const checkpoint::PieceSource> live() const noexcept { return live_; }
    /// Of all pieces.
    std::int64_t payload_bytes() const noexcept { return payload_bytes_; }

  private:
    struct CopyRange {
        const device::Stream* stream;  ///< of the processor of what is copied
        std::byte* to;
        const std::byte* from;
        std::int64_t bytes;
    };

    HeldState state_;
    device::Stream device_stream_;
    bool has_copy_ = false;
    std::vector<CopyRange> to_copy_;
    std::vector<checkpoint::PieceSource> live_;
    std::vector<checkpoint::PieceSource> copied_;
    std::vector<HomePlace> places_;
    std::int64_t payload_bytes_ = 0;
};

}  // namespace ziggurat::train
