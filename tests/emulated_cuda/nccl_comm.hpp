/// What stands behind a communicator of the emulated NCCL.
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>

#include "tests/emulated_cuda/nccl_exchange.hpp"

struct ncclComm {
    ncclUniqueId id;
    std::shared_ptr<emulated_cuda::CommState> state;
    int blocks = 0;  ///< that its kernels may take
    bool has_started = false;
    /// An operation that was called and is not yet in its stream, and how often is asked before it is.
    std::function<void()> pending = {};
    int asked_until_given = 0;
    std::uint64_t operations = 0;
};

namespace emulated_cuda {

/// What a call on `comm` returns that cannot be: no such communicator, or one that is at something else.
ncclResult_t before_operation(ncclComm_t comm);
/// Keeps the text, tells it, and returns the result.
ncclResult_t refuse_call(ncclComm_t comm, ncclResult_t result, const std::string& what);
/// Gives an operation to its stream, now or, like a communicator that does not block, some time later.
ncclResult_t submit(ncclComm_t comm, cudaStream_t stream, Exchange exchange);

}  // namespace emulated_cuda
