#include <algorithm>

#include "base/clock.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

/// Minimum duration of recorded work of other lanes; shorter work is below the clocks' resolution.
constexpr std::int64_t shortest_noted_ns = 1000;

}  // namespace

std::int64_t Executor::end_of(schedule::OpId op, std::int64_t step) const {
    const auto number = op;
    // The op may be done but not marked as done yet, because lanes are polled one after another.
    return completed_[number] > step ? ended_ns_[number][step & 1] : events_[number].end.time_ns();
}

void Executor::note_start(LaneState& lane,
                          std::size_t index,
                          std::int64_t step,
                          std::int64_t begin_ns,
                          std::size_t positions) const {
    auto& start = lane.starts[index];
    int after = -1;
    std::int64_t ready_ns = 0;
    const auto wait = [&](int other, std::int64_t until_ns) {
        if (until_ns > ready_ns) {
            ready_ns = until_ns;
            after = other;
        }
    };
    const auto& op = program_.ops[lane.ops[index]];
    for (const int other : op.waits_for) {
        wait(other, end_of(other, step));
    }
    for (const int other : op.waits_for_previous_step) {
        wait(other, end_of(other, step - 1));
    }
    if (positions > 1 && !lane.has_any_order) {
        const auto before = in_front(lane, index, 1);
        wait(lane.ops[before], lane.starts[before].begin_ns);
    }
    const auto& passed = lane.passed[in_front(lane, index, positions)];
    wait(passed.last, passed.at_ns);
    start = {begin_ns, std::min(ready_ns, begin_ns), after};
    if (times_ != nullptr) {
        times_->began(
            lane.ops[index],
            {.step = step, .begin_ns = start.begin_ns, .ready_ns = start.ready_ns, .after = start.after});
    }
}

void Executor::complete(LaneState& lane, std::size_t index, std::int64_t now_ns) {
    const schedule::OpId op = lane.ops[index];
    const auto number = op;
    const auto& action = actions_[number];
    const auto& start = lane.starts[index];
    const auto step = index < lane.next ? lane.step + 1 : lane.step;
    auto end_ns = now_ns;
    const bool was_skipped = is_skipped_[op] != 0;
    if (action.is_asynchronous() && !was_skipped) {
        if (action.began_ns && lane.held[index] == Held::no) {
            note_start(lane, index, step, std::clamp(action.began_ns(), start.begin_ns, now_ns), 1);
        }
        end_ns = action.ended_ns ? std::clamp(action.ended_ns(), start.begin_ns, now_ns) : now_ns;
    }
    issued_[number] = ++completed_[number];
    times_skipped_[op] += was_skipped ? 1 : 0;
    is_skipped_[op] = 0;
    ended_ns_[number][step & 1] = end_ns;
    if (times_ != nullptr) {
        times_->ended(op, step, end_ns);
    }
    if (records_.size() < records_.capacity()) {
        records_.push_back({op, -1, step, start.begin_ns, end_ns, start.ready_ns, start.after});
    }
    lane.is_running[index] = 0;
    lane.held[index] = Held::no;
    lane.is_done[index] = 1;
    while (lane.is_done[lane.next] != 0) {
        lane.is_done[lane.next] = 0;
        const auto& before = lane.passed[in_front(lane, lane.next, 1)];
        const int last = lane.ops[lane.next];
        const auto last_ns = ended_ns_[last][lane.step & 1];
        lane.passed[lane.next] = before.at_ns > last_ns ? before : Passed{last_ns, last};
        if (++lane.next == lane.ops.size()) {
            lane.next = 0;
            ++lane.step;
        }
    }
    if (lane.stream.is_late() && --num_late_ == 0 && node_ != nullptr) {
        node_->polling_ended();
    }
    if (action.when_done && !was_skipped) {
        action.when_done();
    }
}

void Executor::note_gap(const LaneState& lane, std::size_t index) {
    const auto& start = lane.starts[index];
    const auto since_ns = std::max(lane.passed[in_front(lane, index, 1)].at_ns, step_began_ns_);
    if (start.begin_ns - since_ns >= shortest_noted_ns && start.after >= 0 &&
        &lane_of(start.after) != &lane && records_.size() < records_.capacity()) {
        records_.push_back({lane.ops[index], start.after, lane.step, since_ns, start.begin_ns});
    }
}

void Executor::note_work(schedule::OpId op, std::int64_t begin_ns, std::int64_t end_ns) {
    const bool is_at_work = std::ranges::any_of(
        compute_lanes_, [&](schedule::LaneId lane) { return is_in_flight(lanes_[lane]); });
    if (end_ns - begin_ns < shortest_noted_ns || is_waiting_ || is_at_work || computes_late_) {
        return;
    }
    const int next = first_wait().first;
    const bool goes_on = !records_.empty() && records_.back().op == next && records_.back().cause == op &&
                         begin_ns - records_.back().end_ns < shortest_noted_ns;
    if (goes_on) {
        records_.back().end_ns = end_ns;
    } else if (next != op) {
        note_wait(next, op, begin_ns, end_ns);
    }
}

void Executor::note_busy(schedule::OpId op, std::int64_t begin_ns, std::int64_t end_ns) const {
    if (times_ != nullptr && end_ns - begin_ns >= shortest_noted_ns) {
        times_->was_busy({op, begin_ns, end_ns});
    }
}

void Executor::note_wait(schedule::OpId op,
                         schedule::OpId cause,
                         std::int64_t since_ns,
                         std::int64_t now_ns) {
    if (records_.size() < records_.capacity()) {
        records_.push_back({op, cause, steps_begun_ - 1, since_ns, now_ns});
    }
}

}  // namespace ziggurat::train
