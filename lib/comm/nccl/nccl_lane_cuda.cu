#include "comm/nccl/nccl_lane_cuda.hpp"

#include "comm/nccl/nccl_library_cuda.hpp"
#include "comm/nccl/sum_pieces_cuda.hpp"
#include "device/copy.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::comm {
namespace {

ncclDataType_t type_of(spec::DType type) {
    return type == spec::DType::f32 ? ncclFloat32 : ncclBfloat16;
}

std::size_t count(std::int64_t bytes, int of_one = 1) {
    return bytes / of_one;
}

}  // namespace

void NcclLane::enqueue(NcclCall& call) {
    call.next = 0;
    call.is_given = false;
    waiting_.push_back(&call);
}

void NcclLane::progress() {
    if (has_begun() && !is_ready()) {
        return;
    }
    while (!waiting_.empty() && (has_begun() || size_ == 1)) {
        auto* const call = waiting_.front();
        if (call->next == call->steps.size()) {
            call->done.record(stream_);
            call->is_given = true;
            waiting_.erase(waiting_.begin());
            continue;
        }
        submit(*call, call->steps[call->next]);
        ++call->next;
        if (has_begun() && !is_ready()) {
            return;
        }
    }
}

void NcclLane::submit(NcclCall& call, const NcclStep& step) {
    const auto stream = device::cuda::handle_of(stream_);
    const auto comm = communicator_.handle();
    const int element = spec::element_bytes(call.type);
    auto result = ncclSuccess;
    what_ = call.what;
    switch (step.kind) {
        case NcclStep::Kind::messages:
            result = submit_messages(step.messages);
            break;
        case NcclStep::Kind::all_gather:
            result = nccl().ncclAllGather(step.from, step.to, count(step.bytes), ncclInt8, comm, stream);
            break;
        case NcclStep::Kind::reduce_scatter:
            result = nccl().ncclReduceScatter(step.from, step.to, count(step.bytes, element),
                                              type_of(call.type), ncclSum, comm, stream);
            break;
        case NcclStep::Kind::all_reduce:
            result = nccl().ncclAllReduce(step.from, step.to, count(step.bytes, element), type_of(call.type),
                                          ncclSum, comm, stream);
            break;
        case NcclStep::Kind::broadcast:
            result = nccl().ncclBroadcast(step.from, step.to, count(step.bytes), ncclInt8, step.root, comm,
                                          stream);
            break;
        case NcclStep::Kind::sum:
            sum_pieces(stream_,
                       {.own = step.from,
                        .received = scratch_.data,
                        .apart_bytes = scratch_.piece_bytes(size_),
                        .size = size_,
                        .rank = rank_,
                        .sum_group = call.sum_group},
                       step.to, step.bytes / element, call.type);
            break;
        case NcclStep::Kind::copy:
            device::copy(stream_, step.to, step.from, step.bytes);
            break;
    }
    communicator_.check(result, what_);
    call.bytes_moved += step.bytes_moved;
}

ncclResult_t NcclLane::submit_messages(const std::vector<NcclMessage>& messages) {
    const auto stream = device::cuda::handle_of(stream_);
    const auto comm = communicator_.handle();
    communicator_.check(nccl().ncclGroupStart(), what_);
    auto result = ncclSuccess;
    for (const auto& message : messages) {
        const auto one =
            message.from != nullptr
                ? nccl().ncclSend(message.from, count(message.bytes), ncclInt8, message.peer, comm, stream)
                : nccl().ncclRecv(message.to, count(message.bytes), ncclInt8, message.peer, comm, stream);
        if (one != ncclSuccess && one != ncclInProgress) {
            result = one;
        }
    }
    const auto ended = nccl().ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
}

}  // namespace ziggurat::comm
