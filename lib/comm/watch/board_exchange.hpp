/// BoardExchange: exchanges of a few words between all ranks of a job on one node.
#pragma once

#include <cstdint>
#include <span>

#include "comm/watch/node_status_board.hpp"

namespace ziggurat::comm {

/// Exchange in which every rank posts a few words and reads those of all others, without MPI.
///
/// A waiting rank sleeps.
///
///     exchange.post(mine);
///     while (!exchange.is_complete()) {
///         exchange.idle();
///     }
///     ... exchange.words_of(rank) ...      until the next post
///
/// The ranks call in the same order, one exchange at a time. A rank that posts its next words has read all of
/// the last ones. So two alternating slots are enough, and readers do not have to acknowledge.
///
/// Collective: over all ranks of the job
class BoardExchange {
  public:
    /// \param board  has a line for each rank of the job; outlives this
    /// \param me     index of this rank's line
    BoardExchange(const NodeStatusBoard& board, int num_ranks, int me) noexcept
        : board_{&board}, num_ranks_{num_ranks}, me_{me} {}

    int num_ranks() const noexcept { return num_ranks_; }

    /// \param mine  at most ExchangeSlot::max_words
    void post(std::span<const std::uint64_t> mine);
    /// True if all ranks have posted.
    bool is_complete() const noexcept;
    /// Waits a little, longer after the first calls; at most a millisecond.
    void idle() noexcept;
    std::span<const std::uint64_t> words_of(int rank) const noexcept {
        return board_->line(rank).seat.words[last_ % 2];
    }

  private:
    const NodeStatusBoard* board_;
    int num_ranks_;
    int me_;
    std::uint32_t last_ = 0;
    int tries_ = 0;
};

}  // namespace ziggurat::comm
