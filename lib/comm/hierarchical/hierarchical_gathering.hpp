/// Gathering of finished blocks between nodes: to one member of each other node, then inside that node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/hierarchical/hierarchical_reduction.hpp"
#include "comm/hierarchical/hierarchical_task.hpp"
#include "comm/mpi/message_streams.hpp"

namespace ziggurat::comm {

/// One member's part of an all-gather or a broadcast, and of the second half of an all-reduce.
///
/// Every owner sends its block to its gatherer on each other node, directly into the gatherer's output.
/// Neighbours read the blocks that a member holds in *rounds*. After round k, all neighbours have the first
/// (k + 1) x round_bytes of the blocks that they gathered. In an all-reduce, this includes their own blocks.
class HierarchicalGathering {
  public:
    static constexpr std::int64_t round_bytes = 1024 * 1024;

    /// \param own      this member's own block
    /// \param blocks   by owner; may be empty
    /// \param sums     in an all-reduce: the reduction that finishes own blocks piece by piece; nullptr: own
    ///                 blocks are complete from the start
    /// \param streams  streams of the call; these and `sums` outlive this object
    HierarchicalGathering(const HierarchicalTask& task,
                          const std::byte* own,
                          const std::vector<Block>& blocks,
                          const HierarchicalReduction* sums,
                          MessageStreams& streams);

    void rewind() { rounds_pulled_ = 0; }
    /// Updates the number of pieces that the streams may send and receive.
    void allow();

    /// Number of rounds; the same on all neighbours.
    int num_rounds() const noexcept { return num_rounds_; }
    /// Returns the number of rounds whose data this member holds for its neighbours.
    int rounds_ready() const;
    int rounds_pulled() const noexcept { return rounds_pulled_; }
    /// True if the next round does not overwrite inputs that this member still needs.
    bool can_pull() const;
    /// Reads the next round; returns the bytes read.
    ///
    /// \pre all neighbours are ready for it, and can_pull()
    std::int64_t pull_round();

  private:
    struct Arrival {
        int owner = 0;
        std::size_t stream = 0;
    };
    /// Block that a neighbour holds.
    struct Pull {
        int owner = 0;
        const std::byte* from = nullptr;
        std::byte* to = nullptr;
        std::int64_t bytes = 0;
    };

    MessageStreams* streams_;
    const HierarchicalReduction* sums_;
    int threads_;
    Stores stores_;
    bool is_in_place_ = false;
    std::int64_t own_bytes_ = 0;
    std::vector<std::size_t> departures_;
    std::vector<Arrival> arrivals_;
    std::vector<Pull> pulls_;
    int num_rounds_ = 0;
    int rounds_pulled_ = 0;
};

}  // namespace ziggurat::comm
