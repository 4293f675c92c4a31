/// NcclLane: a communicator and its stream, which are given calls in the order of their starts.
#pragma once

#include <string>
#include <vector>

#include "comm/nccl/nccl_communicator_cuda.hpp"
#include "comm/nccl/nccl_steps_cuda.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"

namespace ziggurat::comm {

/// A call that was prepared, and how far it is.
struct NcclCall {
    std::string what;  ///< "the all_reduce 'sums'"
    std::vector<NcclStep> steps;
    spec::DType type;
    int sum_group;
    device::Event done;
    std::size_t next = 0;  ///< step that was not given to the stream
    bool is_given = true;  ///< all of them were, and `done` is behind them
    std::int64_t bytes_moved = 0;

    bool is_done() const { return is_given && done.is_done(); }
};

class NcclLane {
  public:
    /// \param group   for messages
    /// \param stream  of the rank's GPU, and of this lane alone
    /// \param size    members
    /// \param rank    this one
    /// \param max_blocks  layout::max_blocks_of_group or max_blocks_of_pair
    NcclLane(const std::string& group, device::Stream stream, int size, int rank, int max_blocks)
        : communicator_{group},
          stream_{std::move(stream)},
          size_{size},
          rank_{rank},
          max_blocks_{max_blocks} {}
    /// Ends what is under way.
    ~NcclLane() { communicator_.abort(); }
    NcclLane(const NcclLane&) = delete;
    NcclLane& operator=(const NcclLane&) = delete;

    /// Before this is done calls wait. A lane of one member needs none.
    void begin(const ncclUniqueId& id) { communicator_.begin(stream_, id, size_, rank_, max_blocks_); }
    bool has_begun() const noexcept { return communicator_.has_begun(); }
    /// Whether the communicator is at nothing.
    bool is_ready() const { return communicator_.is_ready(what_); }
    const device::Stream& stream() const noexcept { return stream_; }

    /// So many calls may wait at once without memory being reserved.
    void reserve(std::size_t calls) { waiting_.reserve(calls); }
    /// \param scratch  where the calls' steps have pieces come
    void use_scratch(const NcclScratch& scratch) noexcept { scratch_ = scratch; }
    const NcclScratch& scratch() const noexcept { return scratch_; }
    void enqueue(NcclCall& call);
    /// Gives the stream what the communicator takes.
    ///
    /// Errors: Error{communication}, also of what was given before
    void progress();
    void abort() noexcept { communicator_.abort(); }

  private:
    void give(NcclCall& call, const NcclStep& step);
    ncclResult_t give_messages(const std::vector<NcclMessage>& messages);

    NcclCommunicator communicator_;
    device::Stream stream_;
    int size_, rank_, max_blocks_;
    NcclScratch scratch_;
    std::vector<NcclCall*> waiting_;
    std::string what_ = "the start";  ///< what the communicator was given last
};

}  // namespace ziggurat::comm
