/// NcclCommunicator: a communicator of NCCL, and its errors.
#pragma once

#include <nccl.h>

#include <string>

#include "comm/wait_context.hpp"
#include "device/stream.hpp"

namespace ziggurat::comm {

/// Nonblocking communicator (`ncclConfig_t::blocking` is 0).
///
/// An operation may still be in progress when a call returns. No other call is allowed before is_ready() is
/// true.
class NcclCommunicator {
  public:
    /// \param group  name for messages
    explicit NcclCommunicator(std::string group) : group_{std::move(group)} {}
    ~NcclCommunicator() { abort(); }
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    /// Returns a unique id, which all ranks of a communicator pass to begin().
    ///
    /// Errors: Error{communication}
    static ncclUniqueId make_id(const std::string& group);

    /// Starts to connect to the other ranks; is_ready() returns true when they are connected.
    ///
    /// \param stream      stream of the rank's GPU
    /// \param max_blocks  maximum thread blocks of its kernels
    /// Errors: Error{communication}
    void begin(const device::Stream& stream, const ncclUniqueId& id, int size, int rank, int max_blocks);
    bool has_begun() const noexcept { return handle_ != nullptr; }

    /// True if the last operation was enqueued on its stream.
    ///
    /// \param what  operation, which follows "cannot carry out" in messages: "the all_reduce 'sums'"
    /// Errors: Error{communication} of any earlier operation
    bool is_ready(const std::string& what) const;
    /// Checks the result of a NCCL call. ncclInProgress counts as success.
    ///
    /// Errors: Error{communication}
    void check(ncclResult_t result, const std::string& what) const;
    ncclComm_t handle() const noexcept { return handle_; }

    /// Aborts operations in progress, here and on the GPU.
    ///
    /// Other ranks that wait for this one are not notified.
    ///
    /// NCCL waits for the GPU here, possibly forever after an error. So this call waits at most
    /// `max_seconds_to_abort`, and the process keeps the communicator if NCCL needs longer.
    ///
    /// Source: NVIDIA/nccl, issue 829
    void abort() noexcept;

  private:
    static constexpr double max_seconds_to_abort = 20;

    std::string group_;
    device::Stream stream_{1};  ///< stream of the rank's GPU, after begin()
    ncclComm_t handle_ = nullptr;
};

}  // namespace ziggurat::comm
