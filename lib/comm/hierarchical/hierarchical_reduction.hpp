/// Sums of a call between nodes: partial sums for owners elsewhere, and the own block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/hierarchical/hierarchical_task.hpp"
#include "comm/hierarchical/sum_runs.hpp"
#include "comm/mpi/message_streams.hpp"

namespace ziggurat::comm {

/// One member's share of a reduce-scatter, and of the first half of an all-reduce.
///
/// Piece by piece: neighbours' inputs are summed into a ring, whose pieces leave for the block's owner while
/// the next is summed; addends of the own block wait in other rings until all parts have brought that piece.
/// The rings lie in memory that is lent for a run.
class HierarchicalReduction {
  public:
    /// \param to       where the sum of the own block goes
    /// \param streams  of the call; outlives this
    HierarchicalReduction(const HierarchicalTask& task, std::byte* to, MessageStreams& streams);

    /// Of memory that a run needs; 0: none.
    std::int64_t staging_bytes() const noexcept;
    bool has_staging() const noexcept { return has_staging_; }
    void stage_at(std::byte* area);
    void rewind();

    /// One more piece of everything that can go on; true if there was any. Adds the bytes that it reads from
    /// others.
    ///
    /// \pre all neighbours have their inputs ready
    bool sum_some(std::int64_t& bytes_moved);
    /// Lets the streams go as far as they may.
    void allow();

    std::int64_t piece_bytes() const noexcept { return piece_bytes_; }
    /// Pieces of the own block that are summed.
    std::int64_t pieces_done() const noexcept { return summed_; }
    /// Pieces of the block of `owner`, on another node, that this member needs no more where they lie: it has
    /// summed or sent them, or leaves them to another of its part, without which there is no sum.
    std::int64_t pieces_used(int owner) const;

    bool has_sums() const noexcept { return summed_ == num_pieces_; }
    bool has_read_inputs() const noexcept;

  private:
    /// The addend of this member's part to a block on another node.
    struct Departure {
        int owner = 0;
        std::size_t stream = 0;
        std::vector<Addend> inputs;  ///< of the first piece; none: the own input leaves as it is
        std::int64_t made = 0;       ///< pieces in the ring or beyond
    };
    /// An addend of the own block.
    struct OwnAddend {
        Addend addend;  ///< of the first piece, if it lies on this node
        bool arrives = false;
        std::size_t stream = 0;
    };

    void add_departures(const HierarchicalTask& task);
    void add_own_addends(const HierarchicalTask& task);
    bool make_piece(Departure& departure, std::int64_t& bytes_moved);
    bool add_piece(std::int64_t& bytes_moved);
    Addend piece_of(Addend addend, std::int64_t piece) const;
    void sum(std::byte* output, std::int64_t elements, spec::DType type, Stores stores) const;

    MessageStreams* streams_;
    spec::DType type_;
    int threads_;
    Stores stores_;
    std::int64_t piece_elements_;
    std::int64_t piece_bytes_;
    bool has_staging_ = false;

    std::vector<Departure> departures_;
    std::vector<OwnAddend> own_addends_;
    std::vector<std::size_t> arriving_;  // streams
    std::vector<Addend> addends_;        // of the piece at hand
    std::byte* to_;
    std::int64_t own_bytes_ = 0;
    std::int64_t num_neighbours_ = 0;  // beside this member
    std::int64_t num_pieces_ = 0;      // of the own block
    std::int64_t summed_ = 0;
};

}  // namespace ziggurat::comm
