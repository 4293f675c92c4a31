/// Address space of all shards that one rank owns, divided into chunks of equal size.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_layout.hpp"
#include "layout/unit_id.hpp"

namespace ziggurat::layout {

/// Elements of a unit's flat range.
struct UnitRange {
    UnitId unit = -1;
    ElementRange range;

    bool operator==(const UnitRange&) const = default;
};

/// Address space of a rank's shards, divided into chunks.
///
/// The shards follow each other, each at a multiple of the alignment. Chunk k holds the elements [k c, (k +
/// 1) c) of that space; the last chunk holds the rest. Chunk k has the same elements in every state kind.
///
/// Ren et al., "ZeRO-Offload", 2021, and Fang et al., "PatrickStar", 2021, section 5: state moves between
/// tiers in pieces of one size, independent of tensor sizes. Dividing a rank's own shards instead of the
/// model keeps this size the same for any number of ranks.
///
/// shards a (6 elements) and b (5), chunks of 4:   aaaa | aabb | bbb
class ChunkLayout {
  public:
    /// Default size of a chunk in elements.
    static constexpr std::int64_t usual_elements = std::int64_t{4} << 20;

    /// Alignment of shards in elements.
    ///
    /// Parts of shards in chunks then start at pages of 4 KiB in every element type of two bytes or more.
    /// NVMe transfers nothing smaller.
    static constexpr std::int64_t page_elements = 2048;

    /// \param shards          in order of first use; empty shards are skipped
    /// \param chunk_elements  rounded up to a multiple of `alignment`; 0: usual_elements
    /// \param alignment       a multiple of FlatLayout::block
    ChunkLayout(std::vector<UnitRange> shards,
                std::int64_t chunk_elements,
                std::int64_t alignment = FlatLayout::block);

    std::int64_t chunk_elements() const noexcept { return chunk_elements_; }
    /// Returns the length of the address space, including gaps.
    std::int64_t elements() const noexcept { return begins_.back(); }
    int num_chunks() const noexcept;

    /// Returns the ranges of chunk `k`, in order.
    std::vector<UnitRange> chunk(int k) const;

    /// Returns the ranges of the chunks [from, to).
    std::vector<UnitRange> chunks(int from, int to) const;

  private:
    std::vector<UnitRange> shards_;
    std::vector<std::int64_t> begins_;  ///< start of each shard in the address space, then its end
    std::int64_t chunk_elements_;
};

}  // namespace ziggurat::layout
