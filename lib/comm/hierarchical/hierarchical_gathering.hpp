/// Gathering of finished blocks between nodes: to one member of each other node, and on from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/hierarchical/hierarchical_reduction.hpp"
#include "comm/hierarchical/hierarchical_task.hpp"
#include "comm/mpi/message_streams.hpp"

namespace ziggurat::comm {

/// One member's share of an all-gather or a broadcast, and of the second half of an all-reduce.
///
/// Every owner sends its block to its gatherer on each other node, straight into the gatherer's output. What
/// members hold, neighbours read in *rounds*: after round k all neighbours hold the first (k + 1) x
/// round_bytes of the blocks that they gathered, and, in an all-reduce, of their own.
class HierarchicalGathering {
  public:
    static constexpr std::int64_t round_bytes = 1024 * 1024;

    /// \param own      where the own block lies
    /// \param blocks   by owner; may be empty
    /// \param sums     of an all-reduce: own blocks are finished, and neighbours hold them, as it proceeds;
    ///                 null: they lie there from the beginning
    /// \param streams  of the call; it and `sums` outlive this
    HierarchicalGathering(const HierarchicalTask& task,
                          const std::byte* own,
                          const std::vector<Block>& blocks,
                          const HierarchicalReduction* sums,
                          MessageStreams& streams);

    void rewind() { rounds_pulled_ = 0; }
    /// Says how far the streams may go.
    void allow();

    /// The same on all neighbours.
    int num_rounds() const noexcept { return num_rounds_; }
    /// How many rounds this member can let others read.
    int rounds_ready() const;
    int rounds_pulled() const noexcept { return rounds_pulled_; }
    /// Nothing of this member's own stands where the next round goes.
    bool can_pull() const;
    /// Reads the next round; gives the bytes read.
    ///
    /// \pre all neighbours are ready for it, and can_pull()
    std::int64_t pull_round();

  private:
    struct Arrival {
        int owner = 0;
        std::size_t stream = 0;
    };
    /// A block that a neighbour holds.
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
