#include <algorithm>
#include <array>
#include <span>

#include "base/clock.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

/// Work of other lanes on this thread that is shorter is lost in the times of clocks.
constexpr std::int64_t shortest_noted_ns = 1000;

/// Fills values that nothing but its own step reads.
bool computes(const schedule::Op& op) {
    return op.kind == schedule::OpKind::compute || op.kind == schedule::OpKind::loss;
}

}  // namespace

int Executor::missing(int op, std::int64_t step) const noexcept {
    const auto& wanted = program_.ops[static_cast<std::size_t>(op)];
    for (const int other : wanted.waits_for) {
        if (completed_[static_cast<std::size_t>(other)] <= step) {
            return other;
        }
    }
    for (const int other : wanted.waits_for_previous_step) {
        if (completed_[static_cast<std::size_t>(other)] < step) {
            return other;
        }
    }
    return -1;
}

void Executor::note_start(LaneState& lane, std::size_t index, std::int64_t step, std::int64_t now_ns) const {
    auto& start = lane.starts[index];
    int after = -1;
    std::int64_t ready_ns = 0;
    const auto wait = [&](int other, std::int64_t until_ns) {
        if (until_ns > ready_ns) {
            ready_ns = until_ns;
            after = other;
        }
    };
    const auto ended = [&](int other) { wait(other, ended_ns_[static_cast<std::size_t>(other)]); };
    const auto& op = program_.ops[static_cast<std::size_t>(lane.ops[index])];
    std::ranges::for_each(op.waits_for, ended);
    std::ranges::for_each(op.waits_for_previous_step, ended);
    const auto num_ops = lane.ops.size();
    const auto in_front = [&](std::size_t places) { return (index + num_ops - places) % num_ops; };
    if (lane.most_running > 1 && !lane.has_any_order) {
        wait(lane.ops[in_front(1)], lane.starts[in_front(1)].begin_ns);
    }
    const auto& passed = lane.passed[in_front(lane.most_running)];
    wait(passed.last, passed.at_ns);
    start = {now_ns, std::min(ready_ns, now_ns), after};
    if (times_ != nullptr) {
        times_->began(
            lane.ops[index],
            {.step = step, .begin_ns = start.begin_ns, .ready_ns = start.ready_ns, .after = start.after});
    }
}

void Executor::complete(LaneState& lane, std::size_t index, std::int64_t now_ns) {
    const int op = lane.ops[index];
    const auto& start = lane.starts[index];
    const auto& when = actions_[static_cast<std::size_t>(op)].ended_ns;
    const auto end_ns = when ? std::clamp(when(), start.begin_ns, now_ns) : now_ns;
    const auto step = index < lane.next ? lane.step + 1 : lane.step;
    ++completed_[static_cast<std::size_t>(op)];
    ended_ns_[static_cast<std::size_t>(op)] = end_ns;
    if (times_ != nullptr) {
        times_->ended(op, step, end_ns);
    }
    if (records_.size() < records_.capacity()) {
        records_.push_back({op, -1, step, start.begin_ns, end_ns, start.ready_ns, start.after});
    }
    lane.is_running[index] = 0;
    lane.is_done[index] = 1;
    while (lane.is_done[lane.next] != 0) {
        lane.is_done[lane.next] = 0;
        const auto num_ops = lane.ops.size();
        const auto& before = lane.passed[(lane.next + num_ops - 1) % num_ops];
        const int last = lane.ops[lane.next];
        const auto last_ns = ended_ns_[static_cast<std::size_t>(last)];
        lane.passed[lane.next] = before.at_ns > last_ns ? before : Passed{last_ns, last};
        if (++lane.next == num_ops) {
            lane.next = 0;
            ++lane.step;
        }
    }
}

bool Executor::advance(LaneState& lane) {
    if (!has_work(lane)) {
        return false;
    }
    if (lane.has_any_order) {
        return advance_in_any_order(lane);
    }
    const int op = lane.ops[lane.next];
    auto& action = actions_[static_cast<std::size_t>(op)];
    if (!is_under_way(lane) && missing(op, lane.step) >= 0) {
        return false;
    }
    const auto begin_ns = monotonic_ns();
    if (!is_under_way(lane)) {
        note_start(lane, lane.next, lane.step, begin_ns);
        if (!action.is_asynchronous()) {
            context_.does(program_.ops[static_cast<std::size_t>(op)].label, begin_ns);
            if (!is_abandoned_ || !computes(program_.ops[static_cast<std::size_t>(op)])) {
                action.run();
            }
            const auto end_ns = monotonic_ns();
            note_work(op, begin_ns, end_ns);
            note_busy(op, begin_ns, end_ns);
            complete(lane, lane.next, end_ns);
            if (between_ops_ && is_in_step_) {
                between_ops_();
            }
            return true;
        }
        action.start();
        lane.is_running[lane.next] = 1;
    }
    const bool has_started = start_ahead(lane);
    const bool is_done = action.poll();
    const auto end_ns = monotonic_ns();
    note_work(op, begin_ns, end_ns);
    if (is_done || !is_waiting_) {
        note_busy(op, begin_ns, end_ns);
    }
    if (is_done) {
        complete(lane, lane.next, end_ns);
    }
    return is_done || has_started;
}

bool Executor::advance_in_any_order(LaneState& lane) {
    const auto begin_ns = monotonic_ns();
    const int op = lane.ops[lane.next];
    bool has_moved = start_ahead(lane);
    std::array<std::size_t, schedule::most_under_way> ended{};
    std::size_t num_ended = 0;
    for (std::size_t place = lane.next; place < lane.next + lane.most_running; ++place) {
        const auto index = place % lane.ops.size();
        if (lane.is_running[index] != 0 && actions_[static_cast<std::size_t>(lane.ops[index])].poll()) {
            ended.at(num_ended++) = index;
            has_moved = true;
        }
    }
    const auto end_ns = monotonic_ns();
    note_work(op, begin_ns, end_ns);
    if (has_moved || !is_waiting_) {
        note_busy(op, begin_ns, end_ns);
    }
    for (const auto index : std::span{ended}.first(num_ended)) {
        complete(lane, index, end_ns);
    }
    return has_moved;
}

bool Executor::start_ahead(LaneState& lane) {
    bool has_started = false;
    for (std::size_t place = lane.next; place < lane.next + lane.most_running; ++place) {
        const auto index = place % lane.ops.size();
        const auto step = lane.step + static_cast<std::int64_t>(place / lane.ops.size());
        if (step >= steps_begun_) {
            break;
        }
        if (lane.is_running[index] != 0 || lane.is_done[index] != 0) {
            continue;
        }
        auto& action = actions_[static_cast<std::size_t>(lane.ops[index])];
        if (action.is_asynchronous() && missing(lane.ops[index], step) < 0) {
            note_start(lane, index, step, monotonic_ns());
            action.start();
            lane.is_running[index] = 1;
            has_started = true;
        } else if (!lane.has_any_order) {
            break;
        }
    }
    return has_started;
}

void Executor::note_work(int op, std::int64_t begin_ns, std::int64_t end_ns) {
    const bool is_computing = std::ranges::any_of(
        compute_lanes_, [&](int lane) { return is_under_way(lanes_[static_cast<std::size_t>(lane)]); });
    if (end_ns - begin_ns < shortest_noted_ns || is_waiting_ || is_computing) {
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

void Executor::note_busy(int op, std::int64_t begin_ns, std::int64_t end_ns) const {
    if (times_ != nullptr && end_ns - begin_ns >= shortest_noted_ns) {
        times_->was_busy({op, begin_ns, end_ns});
    }
}

void Executor::note_wait(int op, int cause, std::int64_t since_ns, std::int64_t now_ns) {
    if (records_.size() < records_.capacity()) {
        records_.push_back({op, cause, steps_begun_ - 1, since_ns, now_ns});
    }
}

}  // namespace ziggurat::train
