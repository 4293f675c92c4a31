#include "comm/nccl/nccl_collectives_cuda.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/call_agreement.hpp"
#include "comm/call_shape.hpp"
#include "comm/check_mpi.hpp"
#include "comm/control.hpp"
#include "comm/nccl/sum_pieces_cuda.hpp"
#include "layout/nccl_blocks.hpp"
#include "layout/nccl_sums.hpp"

namespace ziggurat::comm {
namespace {

constexpr int leave_tag = 0;  ///< tag of MPI

bool has_any(const std::vector<Block>& blocks) {
    return bytes_of_all(blocks) > 0;
}

/// Returns the id created by rank 0. If that failed, all ranks throw.
ncclUniqueId agree_on_id(const Communicator& group, const std::string& name) {
    ncclUniqueId id{};
    int is_made = 1;
    if (group.rank() == 0) {
        try {
            id = NcclCommunicator::make_id(name);
        } catch (const Error&) {
            is_made = 0;
            ZG_MPI(MPI_Bcast(&is_made, 1, MPI_INT, 0, group.native()));
            throw;
        }
    }
    ZG_MPI(MPI_Bcast(&is_made, 1, MPI_INT, 0, group.native()));
    if (is_made == 0) {
        throw Error{ErrorKind::communication,
                    "rank 0 of group '" + name + "' cannot start NCCL. See its error message."};
    }
    ZG_MPI(MPI_Bcast(id.internal, NCCL_UNIQUE_ID_BYTES, MPI_BYTE, 0, group.native()));
    return id;
}

}  // namespace

NcclCollectives::NcclCollectives(const Communicator& group,
                                 const std::string& name,
                                 std::unique_ptr<Collectives> on_host,
                                 std::span<const device::Arena> arenas,
                                 device::Device& device,
                                 NodeMemory& node)
    : group_{group.duplicate()},
      name_{name},
      on_host_{std::move(on_host)},
      arenas_{arenas},
      device_{device},
      node_{node},
      lane_{name, device.make_urgent_stream(), group.size(), group.rank(), layout::max_blocks_of_group},
      messages_{group, name, device},
      exceptions_at_start_{std::uncaught_exceptions()} {}

NcclCollectives::~NcclCollectives() {
    close();
    fail();
    for (std::size_t i = 0; i < running_.size(); ++i) {
        node_.polling_ended();
    }
}

bool NcclCollectives::is_of_device(const std::byte* address) const noexcept {
    return std::ranges::any_of(arenas_, [address](const device::Arena& arena) {
        return arena.host_view() == nullptr && address >= arena.data() &&
               address < arena.data() + arena.bytes();
    });
}

bool NcclCollectives::touches_device(const CollectiveCall& call) const {
    return (has_any(blocks_read(call, rank())) && is_of_device(call.input)) ||
           (has_any(blocks_written(call, rank())) && is_of_device(call.output));
}

/// Creates the communicator when the group first needs it.
void NcclCollectives::begin_lane() {
    if (lane_.has_begun() || size() == 1) {
        return;
    }
    lane_.begin(agree_on_id(group_, name_));
    Backoff idle;
    while (!lane_.is_ready()) {
        node_.waits().check("the start of NCCL in a group");
        idle.idle();
    }
    node_.waits().end_wait();
}

/// Returns GPU memory that mirrors the blocks of a host vector, with the same offsets.
std::byte* NcclCollectives::twin_of(const std::byte* vector, const std::vector<Block>& blocks) {
    if (!has_any(blocks) || is_of_device(vector)) {
        return const_cast<std::byte*>(vector);
    }
    const auto all = hull(blocks);
    own_arenas_.push_back(
        device_.reserve(all.bytes, "vectors of the host in NCCL's calls", device::Arena::Kind::own));
    return own_arenas_.back().data() - all.offset_bytes;
}

std::unique_ptr<NcclCall> NcclCollectives::made_of(CollectiveCall call) {
    const auto* const input = call.input;
    const auto read = blocks_read(call, rank());
    auto apart = call;
    // For host vectors, blocks already in place are copied to the GPU and back as well.
    apart.input = nullptr;
    const auto written = blocks_written(apart, rank());
    auto* const output = call.output;
    call.input = twin_of(input, read);
    call.output = twin_of(output, written);
    if (needs_scratch(call) && lane_.scratch().data == nullptr) {
        own_arenas_.push_back(
            device_.reserve(layout::nccl_scratch_bytes, "pieces of NCCL's sums", device::Arena::Kind::own));
        lane_.use_scratch({own_arenas_.back().data(), layout::nccl_scratch_bytes});
        for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
            lane_.stream().load([&] { sum_pieces(lane_.stream(), {}, nullptr, 0, type); });
        }
    }
    std::vector<NcclStep> steps;
    const auto add_copies = [&steps](std::byte* to, const std::byte* from, const std::vector<Block>& blocks) {
        for (const auto& block : blocks) {
            if (to != from && block.bytes > 0) {
                steps.push_back({.kind = NcclStep::Kind::copy,
                                 .from = from + block.offset_bytes,
                                 .to = to + block.offset_bytes,
                                 .bytes = block.bytes});
            }
        }
    };
    add_copies(const_cast<std::byte*>(call.input), input, read);
    for (auto& step : steps_of(call, size(), rank(), lane_.scratch())) {
        steps.push_back(std::move(step));
    }
    add_copies(output, call.output, written);
    return std::unique_ptr<NcclCall>{new NcclCall{
        .what = std::string{"the "} + name_of(call.kind) + " '" + call.label + "'",
        .steps = std::move(steps),
        .type = call.type,
        .sum_group = call.sum_group,
        .done = device::Event{lane_.stream()},
    }};
}

int NcclCollectives::prepare(CollectiveCall call) {
    check_call(call, size(), rank());
    Route route;
    if (is_between_two(call.kind)) {
        route.call = made_of(call);
        route.message = messages_.prepare(call, *route.call);
    } else {
        check_agreement(group_, call, num_group_calls_++);
        if (all_agree(Context{group_, node_.waits()}, !touches_device(call))) {
            route.on_host = on_host_->prepare(std::move(call));
        } else {
            begin_lane();
            route.call = made_of(std::move(call));
        }
    }
    routes_.push_back(std::move(route));
    running_.reserve(routes_.size());
    lane_.reserve(routes_.size());
    return static_cast<int>(routes_.size()) - 1;
}

bool NcclCollectives::is_done(const Route& route) const {
    return route.on_host >= 0 ? on_host_->poll(route.on_host) : route.call->is_done();
}

void NcclCollectives::start(int call) {
    auto& route = routes_.at(call);
    ZG_EXPECTS(!has_failed_ && is_done(route));
    if (route.on_host >= 0) {
        on_host_->start(route.on_host);
    } else if (route.message >= 0) {
        messages_.start(route.message);
    } else {
        lane_.enqueue(*route.call);
    }
    running_.push_back(call);
    node_.polling_started();  // GPU work rings no bell
    progress();
}

void NcclCollectives::progress() {
    if (running_.empty()) {
        return;
    }
    try {
        lane_.progress();
        messages_.progress();
        std::erase_if(running_, [this](int call) {
            const bool is_over = is_done(routes_[call]);
            if (is_over) {
                node_.polling_ended();
            }
            return is_over;
        });
    } catch (...) {
        fail();  // so that no kernel waits for a call that will not come
        throw;
    }
}

bool NcclCollectives::poll(int call) {
    progress();
    return std::ranges::find(running_, call) == running_.end();
}

const device::Stream* NcclCollectives::stream_of(int call) const {
    const auto& route = routes_.at(call);
    if (route.on_host >= 0) {
        return nullptr;
    }
    return route.message >= 0 ? &messages_.stream_of(route.message) : &lane_.stream();
}

bool NcclCollectives::is_enqueued(int call) {
    progress();
    return routes_.at(call).call->is_given;
}

std::int64_t NcclCollectives::bytes_moved(int call) const {
    const auto& route = routes_.at(call);
    return route.on_host >= 0 ? on_host_->bytes_moved(route.on_host) : route.call->bytes_moved;
}

void NcclCollectives::fail() noexcept {
    has_failed_ = true;
    lane_.abort();
    messages_.abort();
}

void NcclCollectives::close() noexcept {
    const bool is_well =
        !has_failed_ && running_.empty() && std::uncaught_exceptions() == exceptions_at_start_;
    try {
        std::vector<MPI_Request> to_come;
        for (int other = 0; other < size(); ++other) {
            if (other != rank()) {
                MPI_Request sent = MPI_REQUEST_NULL;
                ZG_MPI(MPI_Isend(nullptr, 0, MPI_BYTE, other, leave_tag, group_.native(), &sent));
                ZG_MPI(MPI_Request_free(&sent));
                if (is_well) {
                    ZG_MPI(MPI_Irecv(nullptr, 0, MPI_BYTE, other, leave_tag, group_.native(),
                                     &to_come.emplace_back(MPI_REQUEST_NULL)));
                }
            }
        }
        Backoff idle;
        for (int have_come = 0; have_come == 0;) {
            ZG_MPI(MPI_Testall(static_cast<int>(to_come.size()), to_come.data(), &have_come,
                               MPI_STATUSES_IGNORE));
            node_.waits().check("the end of NCCL in a group");
            idle.idle();
        }
        node_.waits().end_wait();
    } catch (const Error&) {
        return;  // the job is being aborted
    }
}

std::unique_ptr<Collectives> make_nccl_collectives(const Communicator& group,
                                                   const std::string& name,
                                                   std::unique_ptr<Collectives> on_host,
                                                   std::span<const device::Arena> arenas,
                                                   device::Device& device,
                                                   NodeMemory& node) {
    return std::make_unique<NcclCollectives>(group, name, std::move(on_host), arenas, device, node);
}

}  // namespace ziggurat::comm
