/// A rank's own shards as one address space, cut into chunks of equal size.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_layout.hpp"

namespace ziggurat::layout {

/// Elements of a unit's flat range.
struct UnitRange {
    int unit = -1;
    ElementRange range;

    bool operator==(const UnitRange&) const = default;
};

/// The shards follow each other, each at a multiple of the alignment; chunk k holds the elements
/// [k c, (k + 1) c) of that space, the last one what is left. Chunk k is the same elements in every state
/// kind.
///
/// Ren et al., "ZeRO-Offload", 2021, and Fang et al., "PatrickStar", 2021, section 5: state moves between
/// tiers in pieces of one size, whatever the sizes of tensors. Cutting a rank's own shards, not the model,
/// keeps pieces at that size on any number of ranks.
///
/// shards a (6 elements) and b (5), chunks of 4:   aaaa | aabb | bbb
class ChunkLayout {
  public:
    /// Elements of a chunk when nobody asks for another size.
    static constexpr std::int64_t usual_elements = std::int64_t{4} << 20;

    /// So aligned, what chunks cut out of a shard begins at whole pages of 4 KiB in every element type of two
    /// bytes or more: NVMe moves nothing smaller.
    static constexpr std::int64_t page_elements = 2048;

    /// \param shards          in order of first use; empty ones are left out
    /// \param chunk_elements  rounded up to a multiple of `alignment`; 0: usual_elements
    /// \param alignment       a multiple of FlatLayout::block
    ChunkLayout(std::vector<UnitRange> shards,
                std::int64_t chunk_elements,
                std::int64_t alignment = FlatLayout::block);

    std::int64_t chunk_elements() const noexcept { return chunk_elements_; }
    /// Length of the address space, gaps included.
    std::int64_t elements() const noexcept { return begins_.back(); }
    int num_chunks() const noexcept;

    /// The runs of chunk `k`, in order.
    std::vector<UnitRange> chunk(int k) const;

    /// Those of the chunks [from, to) together.
    std::vector<UnitRange> chunks(int from, int to) const;

  private:
    std::vector<UnitRange> shards_;
    std::vector<std::int64_t> begins_;  ///< of each shard in the address space, and its end
    std::int64_t chunk_elements_;
};

}  // namespace ziggurat::layout
