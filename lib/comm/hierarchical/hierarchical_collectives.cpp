#include "comm/hierarchical/hierarchical_collectives.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/call_agreement.hpp"
#include "comm/call_shape.hpp"
#include "comm/hierarchical/hierarchical_exchange.hpp"

namespace ziggurat::comm {
namespace {

/// Number of calls after which tags are reused: MPI guarantees only 32768 tags.
constexpr int max_calls_in_flight = 8192;

/// Returns the node of each member, numbered in the order of their first members.
std::vector<int> nodes_of(const Communicator& group, const NodeMemory& memory) {
    std::vector<int> nodes;
    for (const int rank : memory.world_ranks_of(group)) {
        nodes.push_back(memory.nodes().node_of[rank]);
    }
    return topology_of(nodes, group.rank()).node_of;
}

SharedChannel make_channel(NodeMemory& memory, const Communicator& node_group) {
    auto seats = memory.make_seats(node_group);
    ZG_EXPECTS(seats.has_value());
    return SharedChannel{std::move(seats->seats)};
}

}  // namespace

HierarchicalCollectives::HierarchicalCollectives(const Communicator& group, NodeMemory& memory)
    : group_{group.duplicate()},
      node_group_{group_.split(memory.nodes().node)},
      node_of_{nodes_of(group_, memory)},
      inputs_{make_channel(memory, node_group_)},
      rounds_{make_channel(memory, node_group_)},
      messages_{group_},
      threads_{memory.threads()} {}

HierarchicalCollectives::~HierarchicalCollectives() = default;

const HierarchicalPlan& HierarchicalCollectives::plan_for(const CollectiveCall& call) {
    const int sum_group = is_sum(call.kind) && call.sum_group < size() ? call.sum_group : 0;
    for (const auto& plan : plans_) {
        if (plan->sum_group() == sum_group) {
            return *plan;
        }
    }
    return *plans_.emplace_back(std::make_unique<HierarchicalPlan>(node_of_, sum_group));
}

int HierarchicalCollectives::prepare(CollectiveCall call) {
    check_call(call, size(), rank());
    Call prepared;
    if (!is_between_two(call.kind)) {
        check_agreement(group_, call, num_group_calls_);
        if (auto vectors = show_vectors(call, group_, node_of_, inputs_)) {
            const HierarchicalPlan& plan = plan_for(call);
            const bool fits_caches = bytes_touched(call, inputs_.size()) <= last_level_cache_bytes();
            prepared.exchange = std::make_unique<HierarchicalExchange>(
                HierarchicalTask{.call = std::move(call),
                                 .plan = &plan,
                                 .rank = rank(),
                                 .vectors = std::move(*vectors),
                                 .tag = 2 * (num_group_calls_ % max_calls_in_flight),
                                 .threads = threads_,
                                 .stores = fits_caches ? Stores::ordinary : Stores::non_temporal},
                group_.native());
            reserve_staging(prepared.exchange->staging_bytes());
        }
        ++num_group_calls_;
    }
    if (!prepared.exchange) {
        prepared.number_by_messages = messages_.prepare(std::move(call));
    }
    calls_.push_back(std::move(prepared));
    running_.reserve(calls_.size());
    return static_cast<int>(calls_.size()) - 1;
}

void HierarchicalCollectives::reserve_staging(std::int64_t bytes) {
    const auto is_enough = [bytes](const StagingArea& area) { return std::ssize(area.memory) >= bytes; };
    if (bytes > 0 && std::ranges::none_of(areas_, is_enough)) {
        for (int i = 0; i < HierarchicalPlan::calls_at_a_time; ++i) {
            areas_.push_back({std::vector<std::byte>(bytes), nullptr});
        }
    }
}

void HierarchicalCollectives::lend_staging(HierarchicalExchange& exchange) {
    const auto area = std::ranges::find_if(areas_, [&](const StagingArea& candidate) {
        return candidate.user == nullptr && std::ssize(candidate.memory) >= exchange.staging_bytes();
    });
    if (area != areas_.end()) {
        area->user = &exchange;
        exchange.stage_at(area->memory.data());
    }
}

void HierarchicalCollectives::start(int call) {
    Call& started = calls_.at(call);
    if (!started.exchange) {
        messages_.start(started.number_by_messages);
        return;
    }
    started.exchange->start();
    started.has_shown_inputs = false;
    started.sees_inputs = false;
    started.has_finished_inputs = false;
    started.rounds_shown = 0;
    running_.push_back(call);
    progress();
}

bool HierarchicalCollectives::poll(int call) {
    const Call& polled = calls_.at(call);
    if (!polled.exchange) {
        return messages_.poll(polled.number_by_messages);
    }
    if (polled.exchange->is_running()) {
        progress();
    }
    return !polled.exchange->is_running();
}

bool HierarchicalCollectives::has_result(int call) {
    const Call& asked = calls_.at(call);
    if (!asked.exchange) {
        return messages_.has_result(asked.number_by_messages);
    }
    return poll(call) || asked.exchange->has_result();
}

std::int64_t HierarchicalCollectives::bytes_moved(int call) const {
    const Call& asked = calls_.at(call);
    return asked.exchange ? asked.exchange->bytes_moved() : messages_.bytes_moved(asked.number_by_messages);
}

void HierarchicalCollectives::progress() {
    // Oldest first: calls get staging memory in the order of starts, which is the same on all members. So the
    // oldest unfinished call has it on every member, and a deadlock is impossible.
    Turns turns;
    bool has_ended = false;
    for (const int number : running_) {
        Call& call = calls_[number];
        if (call.exchange->wants_staging()) {
            lend_staging(*call.exchange);
        }
        show_and_read_inputs(number, turns);
        show_and_pull_rounds(call, turns);
        if (call.exchange->is_complete() && others_are_done(call)) {
            call.exchange->end();
            has_ended = true;
            for (auto& area : areas_) {
                area.user = area.user == call.exchange.get() ? nullptr : area.user;
            }
        }
    }
    if (has_ended) {
        std::erase_if(running_, [this](int number) { return !calls_[number].exchange->is_running(); });
    }
}

void HierarchicalCollectives::show_and_read_inputs(int number, Turns& turns) {
    Call& call = calls_[number];
    HierarchicalExchange& exchange = *call.exchange;
    if (!call.has_shown_inputs && turns.show_inputs && inputs_.can_post()) {
        call.inputs = inputs_.post({.call = static_cast<std::uint32_t>(number)});
        call.has_shown_inputs = true;
    }
    turns.show_inputs = turns.show_inputs && call.has_shown_inputs;
    if (!call.sees_inputs && call.has_shown_inputs && inputs_.all_posted(call.inputs)) {
        check_identical(number);
        call.sees_inputs = true;
    }
    exchange.progress(call.sees_inputs);
    if (call.sees_inputs && !call.has_finished_inputs && turns.finish_inputs && exchange.has_read_inputs()) {
        inputs_.finish(call.inputs);
        call.has_finished_inputs = true;
    }
    turns.finish_inputs = turns.finish_inputs && call.has_finished_inputs;
}

void HierarchicalCollectives::check_identical(int number) const {
    const Call& call = calls_[number];
    for (int m = 0; m < inputs_.size(); ++m) {
        const std::size_t theirs = inputs_.posted_call(m, call.inputs).call;
        if (static_cast<int>(theirs) != number) {
            const auto described = [this](std::size_t n) {
                const auto* exchange = n < calls_.size() ? calls_[n].exchange.get() : nullptr;
                return exchange != nullptr
                           ? "'" + exchange->call().label + "' (" + name_of(exchange->call().kind) + ")"
                           : "call " + std::to_string(n);
            };
            throw Error{ErrorKind::internal,
                        "members of a group of " + std::to_string(size()) +
                            " ranks run different calls as operation " + std::to_string(call.inputs) +
                            " (here " + described(number) + ", neighbour " + std::to_string(m) + " " +
                            described(theirs) + "). A bug in ziggurat: please report it with the deck."};
        }
    }
}

void HierarchicalCollectives::show_and_pull_rounds(Call& call, Turns& turns) {
    HierarchicalExchange& exchange = *call.exchange;
    while (turns.show_rounds && call.rounds_shown < exchange.rounds_ready() && rounds_.can_post()) {
        const auto round = rounds_.post({});
        call.first_round = call.rounds_shown == 0 ? round : call.first_round;
        ++call.rounds_shown;
    }
    turns.show_rounds = turns.show_rounds && call.rounds_shown == exchange.num_rounds();
    while (turns.pull_rounds && exchange.rounds_pulled() < call.rounds_shown && exchange.can_pull()) {
        const auto round = call.first_round + static_cast<SharedChannel::Operation>(exchange.rounds_pulled());
        if (!rounds_.all_posted(round)) {
            break;
        }
        exchange.pull_round();
        rounds_.finish(round);
    }
    turns.pull_rounds = turns.pull_rounds && exchange.rounds_pulled() == exchange.num_rounds();
}

bool HierarchicalCollectives::others_are_done(const Call& call) {
    const int rounds = call.exchange->num_rounds();
    return call.has_finished_inputs && inputs_.all_done(call.inputs) &&
           (rounds == 0 ||
            rounds_.all_done(call.first_round + static_cast<SharedChannel::Operation>(rounds) - 1));
}

}  // namespace ziggurat::comm
