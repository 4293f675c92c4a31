/// Blocks of a sequence that meet in a round of ring attention.
#pragma once

#include <array>
#include <cstdint>

namespace ziggurat::layout {

/// Blocks of a sequence, ascending: those of one context rank, or some of them.
struct RingBlocks {
    std::array<std::int64_t, 2> index{};
    int count = 0;

    bool operator==(const RingBlocks&) const = default;
};

/// Queries of a rank, and keys and values that it has received.
///
/// A sequence has 2 * ranks blocks of `block` positions. Blocks of different ranks meet as a whole or not at
/// all: either all keys precede all queries, or they follow them.
struct RingRound {
    std::int64_t block = 0;
    RingBlocks queries{}, keys{};
    std::int64_t window = 0;  ///< maximum number of keys of a query; 0: all before it

    /// True if some query of a block can attend to some key of another.
    bool meet(std::int64_t query_block, std::int64_t key_block) const noexcept {
        const auto distance = (query_block - key_block - 1) * block + 1;  // of the closest pair
        return query_block == key_block || (query_block > key_block && (window == 0 || distance < window));
    }
    /// Returns the number of pairs of query and key, of all blocks, in one sequence without documents.
    double pairs() const;
};

/// Shares of one rank in the rounds of ring attention.
class RingPlan {
  public:
    /// \param window  maximum number of keys of a query; 0: all before it
    RingPlan(int ranks, std::int64_t seq, std::int64_t window) : ranks_{ranks}, seq_{seq}, window_{window} {}

    /// Returns both blocks of a rank.
    RingBlocks blocks_of(int rank) const { return {{rank, 2 * ranks_ - 1 - rank}, 2}; }
    /// Returns the blocks of `owner` that its `hop`-th successor receives: it or a later one needs them.
    ///
    /// On hop 0, it returns both blocks.
    RingBlocks arriving(int owner, int hop) const;
    /// Returns the round of `rank` in which the keys have made `hop` hops.
    RingRound round(int rank, int hop) const;
    /// Returns the rank whose keys `rank` has in that round.
    int owner_of(int rank, int hop) const { return (rank + ranks_ - hop) % ranks_; }

  private:
    int ranks_;
    std::int64_t seq_, window_;
};

}  // namespace ziggurat::layout
