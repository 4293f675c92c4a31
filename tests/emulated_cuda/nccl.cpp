/// Operations of the emulated NCCL. Sums are those of a ring.
///
/// Block b starts at rank b + 1, and is rounded to its type at each rank on the ring, so that no test can
/// depend on sums in rank order.
#include <nccl.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "tests/emulated_cuda/memory.hpp"
#include "tests/emulated_cuda/nccl_comm.hpp"

using namespace emulated_cuda;  // these are functions of no namespace

namespace {

enum class Operation { message, all_gather, reduce_scatter, all_reduce, broadcast };

std::size_t bytes_of(ncclDataType_t type) {
    return type == ncclFloat32 ? 4 : type == ncclBfloat16 ? 2 : 1;
}

float read(const std::byte* from, ncclDataType_t type) {
    if (type == ncclFloat32) {
        float value = 0;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

void write(std::byte* to, ncclDataType_t type, float value) {
    if (type == ncclFloat32) {
        std::memcpy(to, &value, sizeof value);
        return;
    }
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto rounded = std::isnan(value) ? 0x7FFF0000U : bits + 0x7FFFU + (bits >> 16U & 1U);
    const auto stored = static_cast<std::uint16_t>(rounded >> 16U);
    std::memcpy(to, &stored, sizeof stored);
}

/// Sums one element of block `block`; `at` returns its address by rank.
template <class At>
void sum_in_ring(std::byte* to, ncclDataType_t type, int ranks, int block, const At& at) {
    std::byte sum[4];
    std::memcpy(sum, at((block + 1) % ranks), bytes_of(type));
    for (int i = 2; i <= ranks; ++i) {
        write(sum, type, read(sum, type) + read(at((block + i) % ranks), type));
    }
    std::memcpy(to, sum, bytes_of(type));
}

struct Called {
    Operation operation;
    const void* from;
    void* to;
    std::size_t count;
    ncclDataType_t type;
    int root;  ///< the peer of point-to-point messages
    bool sends = false;
};

std::byte* bytes_at(const void* address) {
    return static_cast<std::byte*>(const_cast<void*>(address));
}

/// Operations collected between ncclGroupStart and ncclGroupEnd.
struct Grouped {
    int depth = 0;
    std::map<ncclComm_t, std::pair<cudaStream_t, std::vector<Message>>> messages = {};
};
thread_local Grouped grouped;

bool is_of_gpu(ncclComm_t comm, const void* address, std::size_t bytes) {
    const auto owned = owner_of(address, bytes);
    return owned.owner == Owner::gpu && owned.device == comm->state->device() && owned.is_all;
}

ncclResult_t check(ncclComm_t comm, const Called& call) {
    if (const auto result = before_operation(comm); result != ncclSuccess) {
        return result;
    }
    const auto ranks = static_cast<std::size_t>(comm->state->ranks());
    const auto bytes = call.count * bytes_of(call.type);
    const auto in = call.operation == Operation::reduce_scatter ? bytes * ranks : bytes;
    const auto out = call.operation == Operation::all_gather ? bytes * ranks : bytes;
    if (call.count == 0) {
        return refuse_call(comm, ncclInvalidArgument, "an operation on nothing, which nobody needs");
    }
    if ((call.from != nullptr && !is_of_gpu(comm, call.from, in)) ||
        (call.to != nullptr && !is_of_gpu(comm, call.to, out))) {
        return refuse_call(comm, ncclInvalidArgument, "memory that is not all of the communicator's GPU");
    }
    if (call.root < 0 || call.root >= comm->state->ranks()) {
        return refuse_call(comm, ncclInvalidArgument, "rank " + std::to_string(call.root) + " is meant");
    }
    return ncclSuccess;
}

/// Returns the messages of a collective operation, and the reduction of their contents.
Exchange exchange_of(ncclComm_t comm, const Called& call) {
    const int ranks = comm->state->ranks();
    const int me = comm->state->rank();
    const auto bytes = call.count * bytes_of(call.type);
    const MessageHead head{++comm->operations, call.count, static_cast<std::int32_t>(call.operation),
                           call.type, call.root};
    auto* const from = bytes_at(call.from);
    auto* const to = bytes_at(call.to);
    Exchange exchange{.comm = comm->state};
    exchange.kept.resize(static_cast<std::size_t>(ranks));
    const auto send = [&](int peer, std::byte* at) {
        exchange.messages.push_back({peer, true, head, at, bytes});
    };
    const auto receive = [&](int peer, std::byte* at) {
        exchange.messages.push_back({peer, false, head, at, bytes});
    };
    const auto keep = [&](int peer) {
        auto& kept = exchange.kept[static_cast<std::size_t>(peer)];
        kept.resize(bytes);
        receive(peer, kept.data());
    };
    for (int peer = 0; peer < ranks; ++peer) {
        const auto at = static_cast<std::size_t>(peer) * bytes;
        if (peer == me) {
            continue;
        }
        switch (call.operation) {
            case Operation::all_gather:
                send(peer, from);
                receive(peer, to + at);
                break;
            case Operation::reduce_scatter:
                send(peer, from + at);
                keep(peer);
                break;
            case Operation::all_reduce:
                send(peer, from);
                keep(peer);
                break;
            case Operation::broadcast:
                if (me == call.root) {
                    send(peer, from);
                } else if (peer == call.root) {
                    receive(peer, to);
                }
                break;
            case Operation::message:
                break;
        }
    }
    return exchange;
}

void finish(const Called& call, const CommState& comm, const std::vector<const std::byte*>& by_rank) {
    const int ranks = comm.ranks();
    const auto me = static_cast<std::size_t>(comm.rank());
    const auto size = bytes_of(call.type);
    const auto bytes = call.count * size;
    auto* const from = bytes_at(call.from);
    auto* const to = bytes_at(call.to);
    switch (call.operation) {
        case Operation::all_gather:
            std::memmove(to + me * bytes, from, bytes);
            break;
        case Operation::broadcast:
            if (comm.rank() == call.root) {
                std::memmove(to, from, bytes);
            }
            break;
        case Operation::reduce_scatter:
        case Operation::all_reduce:
            for (std::size_t i = 0; i < call.count; ++i) {
                const int block = call.operation == Operation::reduce_scatter
                                      ? comm.rank()
                                      : static_cast<int>(i * static_cast<std::size_t>(ranks) / call.count);
                sum_in_ring(to + i * size, call.type, ranks, block,
                            [&](int rank) { return by_rank[static_cast<std::size_t>(rank)] + i * size; });
            }
            break;
        case Operation::message:
            break;
    }
}

ncclResult_t run(ncclComm_t comm, cudaStream_t stream, const Called& call) {
    if (const auto result = check(comm, call); result != ncclSuccess) {
        return result;
    }
    if (grouped.depth > 0) {
        return refuse_call(comm, ncclInvalidUsage, "a collective operation in a group, which nobody needs");
    }
    auto exchange = exchange_of(comm, call);
    const auto own = call.operation == Operation::reduce_scatter
                         ? static_cast<std::size_t>(comm->state->rank()) * call.count * bytes_of(call.type)
                         : 0;
    std::vector<const std::byte*> by_rank;
    for (int rank = 0; rank < comm->state->ranks(); ++rank) {
        by_rank.push_back(rank == comm->state->rank() ? bytes_at(call.from) + own
                                                      : exchange.kept[static_cast<std::size_t>(rank)].data());
    }
    exchange.finish = [call, by_rank, state = comm->state] { finish(call, *state, by_rank); };
    return submit(comm, stream, std::move(exchange));
}

ncclResult_t add_message(ncclComm_t comm, cudaStream_t stream, const Called& call) {
    if (const auto result = check(comm, call); result != ncclSuccess) {
        return result;
    }
    if (grouped.depth == 0) {
        return refuse_call(comm, ncclInvalidUsage, "a message outside of a group, which nobody needs");
    }
    auto& [its_stream, messages] = grouped.messages[comm];
    its_stream = stream;
    const MessageHead head{0, call.count, static_cast<std::int32_t>(call.operation), call.type, 0};
    messages.push_back({call.root, call.sends, head, bytes_at(call.sends ? call.from : call.to),
                        call.count * bytes_of(call.type)});
    return ncclSuccess;
}

}  // namespace

ncclResult_t ncclAllGather(const void* from,
                           void* to,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclComm_t comm,
                           cudaStream_t stream) {
    return run(comm, stream, {Operation::all_gather, from, to, count, type, 0});
}

ncclResult_t ncclReduceScatter(const void* from,
                               void* to,
                               std::size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t,
                               ncclComm_t comm,
                               cudaStream_t stream) {
    return run(comm, stream, {Operation::reduce_scatter, from, to, count, type, 0});
}

ncclResult_t ncclAllReduce(const void* from,
                           void* to,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclRedOp_t,
                           ncclComm_t comm,
                           cudaStream_t stream) {
    return run(comm, stream, {Operation::all_reduce, from, to, count, type, 0});
}

ncclResult_t ncclBroadcast(const void* from,
                           void* to,
                           std::size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t comm,
                           cudaStream_t stream) {
    return run(comm, stream, {Operation::broadcast, from, to, count, type, root});
}

ncclResult_t ncclSend(const void* from,
                      std::size_t count,
                      ncclDataType_t type,
                      int peer,
                      ncclComm_t comm,
                      cudaStream_t stream) {
    return add_message(comm, stream, {Operation::message, from, nullptr, count, type, peer, true});
}

ncclResult_t ncclRecv(
    void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
    return add_message(comm, stream, {Operation::message, nullptr, to, count, type, peer});
}

ncclResult_t ncclGroupStart() {
    ++grouped.depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    if (--grouped.depth > 0) {
        return ncclSuccess;
    }
    auto result = ncclSuccess;
    for (auto& [comm, given] : std::exchange(grouped.messages, {})) {
        Exchange exchange{.comm = comm->state, .messages = std::move(given.second)};
        const auto one = submit(comm, given.first, std::move(exchange));
        result = one == ncclSuccess ? result : one;
    }
    return result;
}
