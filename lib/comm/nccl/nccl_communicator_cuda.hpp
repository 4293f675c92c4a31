/// NcclCommunicator: ranks that NCCL knows, and the errors that it tells of.
#pragma once

#include <nccl.h>

#include <string>

#include "comm/wait_context.hpp"
#include "device/stream.hpp"

namespace ziggurat::comm {

/// One that never blocks (`ncclConfig_t::blocking` is 0): what is called may be under way when the call
/// returns, and nothing else may be called before is_ready() is true.
class NcclCommunicator {
  public:
    /// \param group  for messages
    explicit NcclCommunicator(std::string group) : group_{std::move(group)} {}
    ~NcclCommunicator() { abort(); }
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    /// A number that all ranks of a communicator begin with.
    ///
    /// Errors: Error{communication}
    static ncclUniqueId make_id(const std::string& group);

    /// Begins to find the others; is_ready() when they are found.
    ///
    /// \param stream      of the rank's GPU
    /// \param max_blocks  of its kernels
    /// Errors: Error{communication}
    void begin(const device::Stream& stream, const ncclUniqueId& id, int size, int rank, int max_blocks);
    bool has_begun() const noexcept { return handle_ != nullptr; }

    /// Whether what was called last has been given to its stream.
    ///
    /// \param what  to be read behind "cannot carry out", for instance "the all_reduce 'sums'"
    /// Errors: Error{communication}, of anything that was called
    bool is_ready(const std::string& what) const;
    /// Takes what a call has returned: it may be under way.
    ///
    /// Errors: Error{communication}
    void check(ncclResult_t result, const std::string& what) const;
    ncclComm_t handle() const noexcept { return handle_; }

    /// Ends what is under way, here and on the GPU. Others that wait for this rank are not told.
    ///
    /// NCCL waits for the GPU here, which may be for ever after an error. So this call waits at most
    /// `most_seconds_to_abort`, and the process keeps the communicator if NCCL needs longer.
    ///
    /// Source: NVIDIA/nccl, issue 829
    void abort() noexcept;

  private:
    static constexpr double most_seconds_to_abort = 20;

    std::string group_;
    device::Stream stream_{1};  ///< of the rank's GPU, after begin()
    ncclComm_t handle_ = nullptr;
};

}  // namespace ziggurat::comm
