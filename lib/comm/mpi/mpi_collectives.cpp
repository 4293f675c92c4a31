#include "comm/mpi/mpi_collectives.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "comm/call_agreement.hpp"
#include "comm/mpi/mpi_exchange.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::comm {

MpiCollectives::MpiCollectives(const Communicator& group)
    : group_{group.duplicate()}, between_two_{group.duplicate()} {}

MpiCollectives::~MpiCollectives() = default;

int MpiCollectives::prepare(CollectiveCall call) {
    check_call(call, size(), rank());
    const bool is_local = is_between_two(call.kind);
    if (!is_local) {
        check_agreement(group_, call, num_group_calls_);
    }
    if (is_sum(call.kind)) {
        reserve_staging();
    }
    const MPI_Comm comm = is_local ? between_two_.native() : group_.native();
    const int tag = is_local ? call.tag : 2 * num_group_calls_++;
    calls_.push_back(std::make_unique<MpiExchange>(std::move(call), size(), rank(), comm, tag));
    bytes_moved_.push_back(0);
    running_.reserve(calls_.size());
    return static_cast<int>(calls_.size()) - 1;
}

void MpiCollectives::reserve_staging() {
    if (staging_.empty()) {
        staging_.resize(layout::MessageStaging::bytes(size()));
        area_users_.assign(layout::MessageStaging::calls_at_a_time, nullptr);
    }
}

void MpiCollectives::start(int call) {
    auto& exchange = *calls_.at(call);
    exchange.start();
    running_.push_back(call);
    progress();
}

bool MpiCollectives::poll(int call) {
    const auto& exchange = *calls_.at(call);
    if (exchange.is_running()) {
        progress();
    }
    return !exchange.is_running();
}

bool MpiCollectives::has_result(int call) {
    const auto& exchange = *calls_.at(call);
    return poll(call) || exchange.has_result();
}

void MpiCollectives::lend_staging(MpiExchange& exchange) {
    const auto area = std::find(area_users_.begin(), area_users_.end(), nullptr);
    if (area != area_users_.end()) {
        *area = &exchange;
        exchange.stage_at(staging_.data() +
                          (area - area_users_.begin()) * std::ssize(staging_) / std::ssize(area_users_));
    }
}

void MpiCollectives::progress() {
    // Oldest first: calls get staging memory in the order of starts, which is the same on all members. So the
    // oldest unfinished call has it on every member, and a deadlock is impossible.
    for (const int running : running_) {
        auto& exchange = *calls_[running];
        if (exchange.needs_staging() && !exchange.has_staging()) {
            lend_staging(exchange);
        }
        if (exchange.progress(bytes_moved_[running])) {
            std::replace(area_users_.begin(), area_users_.end(), static_cast<const MpiExchange*>(&exchange),
                         static_cast<const MpiExchange*>(nullptr));
        }
    }
    std::erase_if(running_, [this](int call) { return !calls_[call]->is_running(); });
}

}  // namespace ziggurat::comm
