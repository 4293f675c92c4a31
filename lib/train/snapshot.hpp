/// What a rank writes into a checkpoint: where it lies, or a copy that training does not touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/piece.hpp"
#include "train/held_state.hpp"

namespace ziggurat::train {

/// The pieces that this rank saves, and the program's buffer `snapshot` where it has one.
///
/// Frozen parameters never change: of them there is no copy. Collective: local
class Snapshot {
  public:
    /// Touches the memory of the copy, so that the first save is not the one that pays for it.
    explicit Snapshot(const HeldState& state);

    bool has_copy() const noexcept { return copy_ != nullptr; }
    /// Copies the state as it is now.
    ///
    /// \pre has_copy()
    /// Async: spread over the stream's threads; done on return
    void take();

    /// Of take(); where nothing is copied the same as live().
    std::span<const checkpoint::Source> copied() const noexcept { return copied_; }
    /// Where training works.
    std::span<const checkpoint::Source> live() const noexcept { return live_; }
    /// Of all pieces.
    std::int64_t payload_bytes() const noexcept { return payload_bytes_; }

  private:
    struct Stretch {
        std::span<const float> from;  ///< the type does not matter: whole words
        std::span<float> to;
    };

    const device::Stream& stream_;
    std::byte* copy_ = nullptr;
    std::vector<Stretch> stretches_;
    std::vector<checkpoint::Source> live_;
    std::vector<checkpoint::Source> copied_;
    std::int64_t payload_bytes_ = 0;
};

}  // namespace ziggurat::train
