#include "comm/nccl/nccl_communicator_cuda.hpp"

#include <utility>

#include "base/ends_within.hpp"
#include "base/error.hpp"
#include "comm/nccl/nccl_library_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"

namespace ziggurat::comm {
namespace {

[[noreturn]] void refuse(ncclResult_t result,
                         ncclComm_t handle,
                         const std::string& what,
                         const std::string& group) {
    const std::string more = nccl().ncclGetLastError(handle);
    throw Error{ErrorKind::communication,
                "cannot carry out " + what + " of group '" + group + "' with NCCL (" +
                    nccl().ncclGetErrorString(result) + (more.empty() ? "" : ": " + more) +
                    "). Start the job again. If the error persists, set NCCL_DEBUG=WARN for details, or "
                    "parallel.transport: staged to run without NCCL."};
}

constexpr const char* start = "the start";

}  // namespace

ncclUniqueId NcclCommunicator::make_id(const std::string& group) {
    ncclUniqueId id;
    if (const auto result = nccl().ncclGetUniqueId(&id); result != ncclSuccess) {
        refuse(result, nullptr, start, group);
    }
    return id;
}

void NcclCommunicator::begin(
    const device::Stream& stream, const ncclUniqueId& id, int size, int rank, int max_blocks) {
    stream_ = stream;
    static_cast<void>(device::cuda::handle_of(stream));  // makes its GPU current
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.minCTAs = 1;
    config.maxCTAs = max_blocks;
    check(nccl().ncclCommInitRankConfig(&handle_, size, id, rank, &config), start);
}

bool NcclCommunicator::is_ready(const std::string& what) const {
    auto state = ncclInProgress;
    const auto result = nccl().ncclCommGetAsyncError(handle_, &state);
    check(result, what);
    check(state, what);
    return state == ncclSuccess;
}

void NcclCommunicator::check(ncclResult_t result, const std::string& what) const {
    if (result != ncclSuccess && result != ncclInProgress) {
        refuse(result, handle_, what, group_);
    }
}

void NcclCommunicator::abort() noexcept {
    if (handle_ == nullptr) {
        return;
    }
    auto* const handle = std::exchange(handle_, nullptr);
    const device::ScopedWait wait{stream_.watch(), "NCCL to abort a communicator"};
    try {
        ends_within(max_seconds_to_abort, [handle, stream = stream_] {
            static_cast<void>(device::cuda::handle_of(stream));  // makes its GPU current
            nccl().ncclCommAbort(handle);
        });
    } catch (const Error&) {
        return;  // the system cannot start a thread: the process keeps the communicator
    }
}

}  // namespace ziggurat::comm
