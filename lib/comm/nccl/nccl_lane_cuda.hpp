/// NcclLane: a communicator and its stream, which run calls in the order of their starts.
#pragma once

#include <string>
#include <vector>

#include "comm/nccl/nccl_communicator_cuda.hpp"
#include "comm/nccl/nccl_steps_cuda.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"

namespace ziggurat::comm {

/// Prepared call and its progress.
struct NcclCall {
    std::string what;  ///< "the all_reduce 'sums'"
    std::vector<NcclStep> steps;
    spec::DType type;
    int sum_group;
    device::Event done;
    std::size_t next = 0;  ///< index of the first step that is not enqueued on the stream
    bool is_given = true;  ///< all steps are enqueued, and `done` is recorded after them
    std::int64_t bytes_moved = 0;

    bool is_done() const { return is_given && done.is_done(); }
};

class NcclLane {
  public:
    /// \param group       name for messages
    /// \param stream      stream of the rank's GPU, used only by this lane
    /// \param size        number of members
    /// \param rank        rank of this member
    /// \param max_blocks  layout::max_blocks_of_group or max_blocks_of_pair
    NcclLane(const std::string& group, device::Stream stream, int size, int rank, int max_blocks)
        : communicator_{group},
          stream_{std::move(stream)},
          size_{size},
          rank_{rank},
          max_blocks_{max_blocks} {}
    /// Aborts calls in progress.
    ~NcclLane() { communicator_.abort(); }
    NcclLane(const NcclLane&) = delete;
    NcclLane& operator=(const NcclLane&) = delete;

    /// Starts to create the communicator; calls wait until it exists. A lane of one member needs none.
    void begin(const ncclUniqueId& id) { communicator_.begin(stream_, id, size_, rank_, max_blocks_); }
    bool has_begun() const noexcept { return communicator_.has_begun(); }
    /// True if the communicator has no call in progress.
    bool is_ready() const { return communicator_.is_ready(what_); }
    const device::Stream& stream() const noexcept { return stream_; }

    /// Reserves memory so that `calls` calls can wait at once without allocation.
    void reserve(std::size_t calls) { waiting_.reserve(calls); }
    /// \param scratch  memory into which the steps of calls receive pieces
    void use_scratch(const NcclScratch& scratch) noexcept { scratch_ = scratch; }
    const NcclScratch& scratch() const noexcept { return scratch_; }
    void enqueue(NcclCall& call);
    /// Enqueues steps on the stream while the communicator is ready.
    ///
    /// Errors: Error{communication}, also of earlier steps
    void progress();
    void abort() noexcept { communicator_.abort(); }

  private:
    void submit(NcclCall& call, const NcclStep& step);
    ncclResult_t submit_messages(const std::vector<NcclMessage>& messages);

    NcclCommunicator communicator_;
    device::Stream stream_;
    int size_, rank_, max_blocks_;
    NcclScratch scratch_;
    std::vector<NcclCall*> waiting_;
    std::string what_ = "the start";  ///< last operation of the communicator
};

}  // namespace ziggurat::comm
