/// Object of a communicator of the emulated NCCL.
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>

#include "tests/emulated_cuda/nccl_exchange.hpp"

struct ncclComm {
    ncclUniqueId id;
    std::shared_ptr<emulated_cuda::CommState> state;
    int blocks = 0;  ///< maximum blocks of its kernels
    bool has_started = false;
    /// An operation that is not yet in its stream, and the number of polls until it is.
    std::function<void()> pending = {};
    int asked_until_given = 0;
    std::uint64_t operations = 0;
};

namespace emulated_cuda {

/// Returns the failure of a call on an invalid communicator, or on one with a call in progress.
ncclResult_t before_operation(ncclComm_t comm);
/// Stores the text, prints it, and returns the result.
ncclResult_t refuse_call(ncclComm_t comm, ncclResult_t result, const std::string& what);
/// Submits an operation to its stream, immediately or, as a non-blocking communicator, some time later.
ncclResult_t submit(ncclComm_t comm, cudaStream_t stream, Exchange exchange);

}  // namespace emulated_cuda
