/// One call of MpiCollectives as streams of messages; included only by mpi_collectives.cpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/mpi/message_streams.hpp"

namespace ziggurat::comm {

/// All streams of a call and its progress.
///
/// Phase one sends blocks to the members that sum or own them. Phase two sends the sums of an all-reduce to
/// all members, piece by piece as they are finished.
class MpiExchange {
  public:
    /// \param tag  this and the next tag of `comm` belong to this call
    MpiExchange(CollectiveCall call, int size, int rank, MPI_Comm comm, int tag);

    const CollectiveCall& call() const noexcept { return call_; }
    bool is_running() const noexcept { return is_running_; }
    /// True if all blocks are received and summed; sends may still be in progress.
    bool has_result() const noexcept;
    /// True if the call receives addends into staging memory, which must be set first.
    bool needs_staging() const noexcept { return !arriving_.empty(); }
    bool has_staging() const noexcept { return has_staging_; }

    void start();
    /// Sets the memory for arriving pieces: depth x piece_bytes of layout::MessageStaging for each other
    /// member.
    void stage_at(std::byte* area);
    /// Makes progress as far as possible without waiting; returns true when complete. Adds to `bytes_sent`.
    bool progress(std::int64_t& bytes_sent);

  private:
    class StreamMaker;  // adds the streams of each kind of call

    bool sum_arrived();
    void allow();

    CollectiveCall call_;
    int size_;
    int rank_;
    int tag_;
    bool is_running_ = false;
    bool has_staging_ = false;

    MessageStreams streams_;

    /// Block that this member copies to itself.
    struct Copy {
        const std::byte* from = nullptr;
        std::byte* to = nullptr;
        std::int64_t bytes = 0;
    };
    Copy own_copy_;

    // State of sums. Indices are into streams_.
    struct AfterSend {
        std::size_t receive;
        std::size_t send;  ///< reads the memory that `receive` writes
    };
    std::vector<std::size_t> arriving_;            // addends of this member's block
    std::vector<std::size_t> arriving_of_member_;  // same indices, by member
    std::vector<std::size_t> departing_sums_;
    std::vector<AfterSend> overwrites_;      // all_reduce in place
    std::vector<const std::byte*> addends_;  // by member
    const std::byte* own_addend_ = nullptr;
    std::byte* sum_to_ = nullptr;
    std::int64_t pieces_to_sum_ = 0;
    std::int64_t summed_ = 0;
};

}  // namespace ziggurat::comm
