/// Sums of a call between nodes: partial sums for owners on other nodes, and the own block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/hierarchical/hierarchical_task.hpp"
#include "comm/hierarchical/sum_runs.hpp"
#include "comm/mpi/message_streams.hpp"

namespace ziggurat::comm {

/// One member's part of a reduce-scatter, and of the first half of an all-reduce.
///
/// Sums proceed in pieces. Neighbours' inputs are summed into a ring, whose pieces are sent to the block's
/// owner while the next piece is summed. Addends of the own block wait in other rings until all parts have
/// delivered that piece. The rings are in staging memory that is assigned for one execution.
class HierarchicalReduction {
  public:
    /// \param to       destination of the sum of the own block
    /// \param streams  streams of the call; outlives this
    HierarchicalReduction(const HierarchicalTask& task, std::byte* to, MessageStreams& streams);

    /// Returns the staging memory that an execution needs; may be 0.
    std::int64_t staging_bytes() const noexcept;
    bool has_staging() const noexcept { return has_staging_; }
    void stage_at(std::byte* area);
    void rewind();

    /// Sums one more piece of every sum whose addends are ready. Returns true if there was any.
    ///
    /// \param bytes_moved  increased by the bytes that are read from others
    /// \pre all neighbours have their inputs ready
    bool sum_some(std::int64_t& bytes_moved);
    /// Updates the number of pieces that the streams may send and receive.
    void allow();

    std::int64_t piece_bytes() const noexcept { return piece_bytes_; }
    /// Number of pieces of the own block that are summed.
    std::int64_t pieces_done() const noexcept { return summed_; }
    /// Returns the pieces of the remote block of `owner` that this member no longer needs in its input.
    ///
    /// It has summed or sent them, or another member of its part sums them. The finished block cannot arrive
    /// before that.
    std::int64_t pieces_used(int owner) const;

    bool has_sums() const noexcept { return summed_ == num_pieces_; }
    bool has_read_inputs() const noexcept;

  private:
    /// Addend of this member's part to a block on another node.
    struct RemoteAddend {
        int owner = 0;
        std::size_t stream = 0;
        std::vector<Addend> inputs;  ///< of the first piece; empty: the own input is sent unchanged
        std::int64_t made = 0;       ///< pieces that were written to the ring so far
    };
    /// Addend of the own block.
    struct OwnAddend {
        Addend addend;  ///< of the first piece, if it is on this node
        bool arrives = false;
        std::size_t stream = 0;
    };

    void add_departures(const HierarchicalTask& task);
    void add_own_addends(const HierarchicalTask& task);
    bool make_piece(RemoteAddend& departure, std::int64_t& bytes_moved);
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

    std::vector<RemoteAddend> departures_;
    std::vector<OwnAddend> own_addends_;
    std::vector<std::size_t> arriving_;  // indices of streams
    std::vector<Addend> addends_;        // of the current piece
    std::byte* to_;
    std::int64_t own_bytes_ = 0;
    std::int64_t num_neighbours_ = 0;  // without this member
    std::int64_t num_pieces_ = 0;      // of the own block
    std::int64_t summed_ = 0;
};

}  // namespace ziggurat::comm
