#include "comm/node/shared_collectives.hpp"

#include <utility>

#include "base/contract.hpp"
#include "comm/call_agreement.hpp"
#include "comm/check_mpi.hpp"
#include "comm/control.hpp"

namespace ziggurat::comm {
namespace {

/// Returns, for each member, the block of its input for this one.
std::vector<Block> exchange_blocks(const Communicator& group, const CollectiveCall& call) {
    static_assert(sizeof(Block) == 2 * sizeof(std::int64_t));
    std::vector<Block> comes(call.blocks.size());
    ZG_MPI(MPI_Alltoall(call.blocks.data(), 2, MPI_INT64_T, comes.data(), 2, MPI_INT64_T, group.native()));
    return comes;
}

PullSettings settings_of(const NodeMemory& node, const std::string& name) {
    return {.threads = node.threads(), .inline_bytes = node.inline_bytes(), .group = name};
}

}  // namespace

SharedCollectives::SharedCollectives(const Communicator& group,
                                     NodeMemory& node,
                                     GroupSlots seats,
                                     const std::string& name)
    : group_{group.duplicate()},
      node_{node},
      calls_{seats.seats, settings_of(node, name)},
      messages_{std::move(seats), name},
      by_mpi_{group} {}

int SharedCollectives::prepare(CollectiveCall call) {
    check_call(call, size(), rank());
    if (is_between_two(call.kind)) {
        return prepare_message(std::move(call));
    }
    check_agreement(group_, call, num_group_calls_++);
    Route route;
    if (all_agree(Context{group_, node_.waits()}, calls_.can_carry(call))) {
        std::vector<Block> pulls;
        if (has_output_blocks(call.kind)) {
            pulls = exchange_blocks(group_, call);
        }
        route.shared = calls_.add(std::move(call), std::move(pulls));
    } else {
        route.by_mpi = by_mpi_.prepare(std::move(call));
    }
    routes_.push_back(route);
    return static_cast<int>(routes_.size()) - 1;
}

int SharedCollectives::prepare_message(CollectiveCall call) {
    Route route;
    const bool is_receive = call.kind == CollectiveKind::receive;
    route.message = messages_.add(call);
    if (is_receive || messages_.is_carried_by_mpi(route.message)) {
        route.by_mpi = by_mpi_.prepare(std::move(call));
    }
    routes_.push_back(route);
    return static_cast<int>(routes_.size()) - 1;
}

void SharedCollectives::start_by_mpi(Route& route) {
    by_mpi_.start(route.by_mpi);
    route.runs_by_mpi = true;
    ++num_by_mpi_;
    node_.polling_started();
}

void SharedCollectives::start(int call) {
    const bool is_free = poll(call);
    ZG_EXPECTS(is_free);
    Route& route = routes_[call];
    if (route.shared >= 0) {
        calls_.start(route.shared);
    } else if (route.message >= 0) {
        messages_.start(route.message);
        if (messages_.is_carried_by_mpi(route.message)) {
            start_by_mpi(route);
        }
    } else {
        start_by_mpi(route);
    }
    progress();
}

void SharedCollectives::progress() {
    calls_.progress();
    if (messages_.progress()) {
        for (Route& route : routes_) {
            if (route.message >= 0 && messages_.must_be_fetched(route.message)) {
                start_by_mpi(route);
            }
        }
    }
    if (num_by_mpi_ == 0) {
        return;
    }
    for (Route& route : routes_) {
        if (route.runs_by_mpi && by_mpi_.poll(route.by_mpi)) {
            route.runs_by_mpi = false;
            --num_by_mpi_;
            node_.polling_ended();
        }
    }
}

bool SharedCollectives::poll(int call) {
    const Route& route = route_of(call);
    progress();
    if (route.shared >= 0) {
        return calls_.is_complete(route.shared);
    }
    return !route.runs_by_mpi && (route.message < 0 || messages_.is_complete(route.message));
}

bool SharedCollectives::has_result(int call) {
    const Route& route = route_of(call);
    if (poll(call)) {
        return true;
    }
    if (route.shared >= 0) {
        return calls_.has_result(route.shared);
    }
    return route.runs_by_mpi && route.message < 0 && by_mpi_.has_result(route.by_mpi);
}

std::int64_t SharedCollectives::bytes_moved(int call) const {
    const Route& route = route_of(call);
    return (route.shared >= 0 ? calls_.bytes_moved(route.shared) : 0) +
           (route.message >= 0 ? messages_.bytes_moved(route.message) : 0) +
           (route.by_mpi >= 0 ? by_mpi_.bytes_moved(route.by_mpi) : 0);
}

}  // namespace ziggurat::comm
