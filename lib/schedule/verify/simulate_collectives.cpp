/// Points at which ranks wait for each other: collectives and messages.
#include <algorithm>
#include <utility>

#include "schedule/verify/simulate_lanes.hpp"

namespace ziggurat::schedule::simulation {

void Simulation::join(int index) {
    auto& lane = lane_at(index);
    const auto& group = group_of(lane.rank, op_of(lane));
    auto& collective = collectives_[{group.name, group.members}];
    collective.lanes.resize(group.members.size(), -1);
    auto& seat = collective.lanes[group.my_index];
    if (seat >= 0) {
        note({FindingKind::malformed, lane.rank, lane.op(),
              name(lane) + " starts in group '" + group.name + "' together with " + name(lane_at(seat))});
        is_stopped_ = true;
        return;
    }
    seat = index;
    if (++collective.present < group.size()) {
        return;
    }
    const auto members = std::exchange(collective.lanes, {});
    collective.present = 0;
    if (!check_match(members, group)) {
        is_stopped_ = true;
        return;
    }
    meet(members);
}

void Simulation::meet(const std::vector<int>& members) {
    std::vector<std::pair<int, int>> ops;
    std::vector<Found> found;
    for (const int member : members) {
        ops.emplace_back(lane_at(member).rank, lane_at(member).op());
        found.push_back(std::move(lane_at(member).found));
    }
    if (lane_at(members.front()).is_skipped) {
        std::ranges::for_each(members, [this](int member) { start(member); });
        return;
    }
    const auto kind = op_of(lane_at(members.front())).kind;
    std::vector<std::vector<Pieces>> values;
    if (class_of(kind) == OpClass::step_end) {
        for (std::size_t m = 0; m < members.size(); ++m) {
            const auto& lane = lane_at(members[m]);
            values.push_back(world_.local(lane.rank, lane.op(), step_of(lane), found[m]));
        }
    } else {
        values = world_.collective(ops, found);
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
        lane_at(members[m]).values = std::move(values[m]);
        start(members[m]);
    }
}

bool Simulation::check_match(const std::vector<int>& members, const Group& group) {
    const auto& first = lane_at(members.front());
    const auto& one = op_of(first);
    for (const int member : members) {
        const auto& lane = lane_at(member);
        const auto& other = op_of(lane);
        bool same = one.kind == other.kind && one.purpose == other.purpose &&
                    (one.unit == other.unit || one.purpose == Purpose::gradients) &&
                    one.payload == other.payload && one.microbatch == other.microbatch &&
                    one.peer == other.peer && one.direction == other.direction &&
                    one.predicate.has_value() == other.predicate.has_value() &&
                    one.blocks.size() == other.blocks.size() && first.step == lane.step;
        for (std::size_t b = 0; same && b < one.blocks.size(); ++b) {
            same = one.blocks[b].bytes == other.blocks[b].bytes;
        }
        const bool needs_blocks = is_collective(one.kind) && !is_message(one.kind);
        const auto operands = one.writes.size();
        if (needs_blocks &&
            (one.blocks.size() != operands * group.members.size() || one.reads.size() != operands)) {
            note({FindingKind::malformed, first.rank, first.op(),
                  name(first) + " has " + std::to_string(one.blocks.size()) + " blocks for " +
                      std::to_string(operands) + " operands of " + std::to_string(group.size()) +
                      " members"});
            return false;
        }
        if (!same) {
            note({FindingKind::collective_mismatch, lane.rank, lane.op(),
                  "in group '" + group.name + "', " + name(first) + " does not match " + name(lane)});
            return false;
        }
    }
    return true;
}

void Simulation::message(int index) {
    auto& lane = lane_at(index);
    const auto& op = op_of(lane);
    const auto& group = group_of(lane.rank, op);
    const int peer = group.members.at(op.peer);
    if (op.kind == OpKind::send) {
        sends_[{lane.rank, peer, op.tag}].push_back(index);
        match({lane.rank, peer, op.tag});
        auto& count = outstanding_[{lane.rank, peer}];
        if (lane.phase == LaneState::Phase::joined && count < options_.buffered_sends) {
            ++count;
            auto& queue = sends_[{lane.rank, peer, op.tag}];
            queue.back() = -1 - static_cast<int>(letters_.size());
            letters_.push_back({lane.found, lane.rank, lane.op()});
            start(index);
        }
    } else {
        receives_[{peer, lane.rank, op.tag}].push_back(index);
        match({peer, lane.rank, op.tag});
    }
}

void Simulation::match(const MessageKey& key) {
    auto& sends = sends_[key];
    auto& receives = receives_[key];
    if (sends.empty() || receives.empty()) {
        return;
    }
    const int sender = sends.front();
    const int receiver = receives.front();
    sends.pop_front();
    receives.pop_front();
    auto& to = lane_at(receiver);
    const Found& sent = sender >= 0 ? lane_at(sender).found : letters_[-1 - sender].found;
    const auto bytes = sent.reads.front().empty() ? 0 : sent.reads.front().back().end;
    if (bytes != op_of(to).writes.front().bytes()) {
        note({FindingKind::unmatched_message, to.rank, to.op(),
              name(to) + " expects " + std::to_string(op_of(to).writes.front().bytes()) +
                  " bytes, but the send has " + std::to_string(bytes)});
        is_stopped_ = true;
        return;
    }
    to.values = {sent.reads.front()};
    start(receiver);
    if (sender >= 0) {
        lane_at(sender).values.assign(op_of(lane_at(sender)).writes.size(), {});
        start(sender);
    } else {
        --outstanding_[{std::get<0>(key), std::get<1>(key)}];
    }
}

}  // namespace ziggurat::schedule::simulation
