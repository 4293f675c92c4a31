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

/// Shares of one rank in the rounds of ring attention, in one ring or in two levels.
///
/// The ranks of a node are an inner ring; the ranks with one index on their nodes are a ring between nodes.
/// In turn t, blocks of the t-th previous node circulate in the inner ring, one hop per step. After the turn,
/// they continue from the rank of step 0 on the next node. One ring of all ranks has a single turn.
///
/// Source: Gu et al., "LoongTrain", 2024 (double ring attention)
class RingPlan {
  public:
    /// \param inner   number of ranks in an inner ring; it divides `ranks`
    /// \param window  maximum number of keys of a query; 0: all before it
    RingPlan(int ranks, int inner, std::int64_t seq, std::int64_t window)
        : ranks_{ranks}, inner_{inner}, seq_{seq}, window_{window} {}

    /// Returns the number of turns of the inner ring: one per node.
    int turns() const { return ranks_ / inner_; }
    /// Returns the number of rounds in a turn.
    int steps() const { return inner_; }
    /// Returns both blocks of a rank.
    RingBlocks blocks_of(int rank) const { return {{rank, 2 * ranks_ - 1 - rank}, 2}; }
    /// Returns the rank whose keys `rank` has in that step. Step steps() is step 0.
    int owner_of(int rank, int turn, int step) const { return moved(rank, -turn, -step); }
    /// Returns the blocks of `owner` that ranks need in that turn, at that step or later.
    RingBlocks needed_in(int owner, int turn, int step) const { return needed(owner, turn, turn + 1, step); }
    /// Returns the blocks of `owner` that ranks need in that turn or later.
    RingBlocks needed_from(int owner, int turn) const { return needed(owner, turn, turns(), 0); }
    /// Returns the blocks of `owner` that other nodes need up to the end of that turn.
    ///
    /// The sums of their gradients have not reached the owner then.
    RingBlocks needed_after_first(int owner, int turn) const { return needed(owner, 1, turn + 1, 0); }
    /// Returns the round in which `rank` has the keys of `owner`.
    RingRound round(int rank, int owner) const;

  private:
    /// Returns the rank that is `nodes` nodes and `indices` indices after `rank`, both cyclic.
    int moved(int rank, int nodes, int indices) const {
        return (rank / inner_ + nodes + turns()) % turns() * inner_ +
               (rank % inner_ + indices + inner_) % inner_;
    }
    /// Returns the blocks of `owner` that ranks need in turns [first_turn, end_turn) from a step on.
    RingBlocks needed(int owner, int first_turn, int end_turn, int first_step) const;

    int ranks_, inner_;
    std::int64_t seq_, window_;
};

}  // namespace ziggurat::layout
