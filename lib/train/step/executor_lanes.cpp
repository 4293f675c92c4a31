#include <algorithm>
#include <array>
#include <span>

#include "base/clock.hpp"
#include "device/wait_observer.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

/// Returns true if the results of the op are used only in its own step.
bool computes(const schedule::Op& op) {
    return op.kind == schedule::OpKind::compute || op.kind == schedule::OpKind::loss;
}

}  // namespace

schedule::OpId Executor::missing(schedule::OpId op,
                                 std::int64_t step,
                                 const IndexedVector<schedule::OpId, std::int64_t>& counts) const noexcept {
    const auto& wanted = program_.ops[op];
    for (const int other : wanted.waits_for) {
        if (counts[other] <= step) {
            return other;
        }
    }
    for (const int other : wanted.waits_for_previous_step) {
        if (counts[other] < step) {
            return other;
        }
    }
    return -1;
}

bool Executor::advance(LaneState& lane) {
    if (!has_work(lane)) {
        return false;
    }
    if (lane.has_any_order) {
        return advance_in_any_order(lane);
    }
    if (actions_[lane.ops[lane.next]].is_asynchronous()) {
        return advance_asynchronous(lane);
    }
    const bool has_issued = issue_next(lane);
    const bool has_ended = end_issued(lane);
    if ((has_issued || has_ended) && between_ops_ && is_in_step_) {
        between_ops_();
    }
    return has_issued || has_ended;
}

template <class Work>
auto Executor::do_for(schedule::OpId op, const Work& work) {
    try {
        return work();
    } catch (...) {
        throw_failure(op);
    }
}

bool Executor::poll(schedule::OpId op) {
    return is_skipped_[op] != 0 || do_for(op, actions_[op].poll);
}

bool Executor::decide(schedule::OpId op, std::int64_t step) {
    const auto& action = actions_[op];
    is_skipped_[op] = action.predicate && !action.predicate(step) ? 1 : 0;
    if (is_skipped_[op] != 0) {
        return false;
    }
    if (action.before_step) {
        action.before_step(step);
    }
    return true;
}

bool Executor::issue_next(LaneState& lane) {
    const auto position = next_to_issue(lane);
    if (position.step >= steps_begun_ || lane.num_issued == lane.ops.size()) {
        return false;  // otherwise the op would be issued again before it is done
    }
    const schedule::OpId op = lane.ops[position.index];
    const auto number = op;
    const bool is_late = lane.stream.is_late();
    if (actions_[number].is_asynchronous() ||
        missing(op, position.step, is_late ? issued_ : completed_) >= 0) {
        return false;
    }
    const bool has_values = computes(program_.ops[number]);
    const bool is_left_out = is_abandoned_ && has_values;
    if (is_late && lane.num_issued >= lane.max_ahead && has_values && !is_left_out) {
        return false;
    }
    return do_for(op, [&] { return issue(lane, position, is_left_out); });
}

bool Executor::issue(LaneState& lane, const Place& position, bool is_left_out) {
    const auto index = position.index;
    const schedule::OpId op = lane.ops[index];
    const auto number = op;
    auto& action = actions_[number];
    const auto& issued = program_.ops[number];
    auto& [begin, end] = events_[number];
    const auto held = lane.held[index];
    // Issuing work to a device counts as a wait, because a hanging device stops to accept work at some point.
    auto* const watch = lane.stream.watch();
    if (held == Held::no) {
        const device::ScopedWait wait{watch, issued.label};
        const bool is_late = lane.stream.is_late();
        if (is_late) {
            wait_for_issued(lane, issued, position.step);
        }
        const bool follows = is_late && lane.num_issued > 0 && lane.is_independent[index] != 0;
        lane.follows[index] = follows ? 1 : 0;
        if (!follows) {
            begin.record(lane.stream);
        }
    }
    const bool runs = !is_left_out && (held != Held::no || decide(op, position.step));
    const bool has_run = held == Held::is_enqueued;
    if (runs && !has_run && action.may_begin && !action.may_begin()) {
        lane.held[index] = Held::may_begin;
        return false;
    }
    const auto begin_ns = lane.stream.is_late() || held != Held::no ? monotonic_ns() : begin.time_ns();
    if (watch == nullptr) {
        context_.begin_activity(issued.label, begin_ns);
    }
    const device::ScopedWait wait{watch, issued.label};
    if (runs && !has_run) {
        action.run();
    }
    if (runs && action.is_enqueued && !action.is_enqueued()) {
        lane.held[index] = Held::is_enqueued;
        return false;
    }
    end.record(lane.stream);
    set_running(lane, index);
    ++issued_[number];
    ++lane.num_issued;
    const auto end_ns = lane.stream.is_late() ? monotonic_ns() : end.time_ns();
    note_work(op, begin_ns, end_ns);
    note_busy(op, begin_ns, end_ns);
    return true;
}

void Executor::wait_for_issued(const LaneState& lane, const schedule::Op& op, std::int64_t step) const {
    const auto wait = [&](int other, std::int64_t in_step) {
        if (&lane_of(other) != &lane && completed_[other] <= in_step) {
            lane.stream.wait_for(events_[other].end);
        }
    };
    for (const int other : op.waits_for) {
        wait(other, step);
    }
    for (const int other : op.waits_for_previous_step) {
        wait(other, step - 1);
    }
}

bool Executor::depends_on_own_lane(const schedule::Op& op) const {
    const auto is_on_it = [&](int other) { return program_.ops[other].lane == op.lane; };
    return std::ranges::all_of(op.waits_for, is_on_it) &&
           std::ranges::all_of(op.waits_for_previous_step, is_on_it);
}

bool Executor::end_issued(LaneState& lane) {
    const auto before = lane.num_issued;
    while (lane.num_issued > 0 && do_for(lane.ops[lane.next], [&] { return end_first_issued(lane); })) {}
    return lane.num_issued < before;
}

bool Executor::end_first_issued(LaneState& lane) {
    const auto index = lane.next;
    const auto& [begin, end] = events_[lane.ops[index]];
    const auto& action = actions_[lane.ops[index]];
    const bool has_ended = end.is_done();
    const bool is_polled = action.poll && is_skipped_[lane.ops[index]] == 0;
    const bool has_poll_ended = !is_polled || action.poll();  // it also reports errors of other ranks
    if (!has_ended || !has_poll_ended) {
        return false;
    }
    const auto begin_ns =
        lane.follows[index] != 0 ? lane.passed[in_front(lane, index, 1)].at_ns : begin.time_ns();
    note_start(lane, index, lane.step, begin_ns, 1);
    if (lane.computes && lane.stream.is_late()) {
        note_gap(lane, index);
    }
    --lane.num_issued;
    complete(lane, index, end.time_ns());
    return true;
}

bool Executor::advance_asynchronous(LaneState& lane) {
    const schedule::OpId op = lane.ops[lane.next];
    if (!is_in_flight(lane) && missing(op, lane.step, completed_) >= 0) {
        return false;
    }
    const auto begin_ns = monotonic_ns();
    if (!is_in_flight(lane) && !start(lane, lane.next, lane.step)) {
        return false;
    }
    const bool has_started = start_ahead(lane);
    const bool is_done = poll(op);
    const auto end_ns = monotonic_ns();
    note_work(op, begin_ns, end_ns);
    if (is_done || !is_waiting_) {
        note_busy(op, begin_ns, end_ns);
    }
    if (is_done) {
        do_for(op, [&] { complete(lane, lane.next, end_ns); });
    }
    return is_done || has_started;
}

bool Executor::start(LaneState& lane, std::size_t index, std::int64_t step) {
    const schedule::OpId op = lane.ops[index];
    auto& action = actions_[op];
    const bool has_started = do_for(op, [&] {
        if (lane.held[index] == Held::no) {
            note_start(lane, index, step, monotonic_ns(), lane.max_running);
            if (!decide(op, step)) {
                return true;
            }
        }
        if (action.may_begin && !action.may_begin()) {
            lane.held[index] = Held::may_begin;
            return false;
        }
        action.start();
        return true;
    });
    if (has_started) {
        set_running(lane, index);
    }
    return has_started;
}

bool Executor::advance_in_any_order(LaneState& lane) {
    const auto begin_ns = monotonic_ns();
    const schedule::OpId op = lane.ops[lane.next];
    bool has_moved = start_ahead(lane);
    std::array<std::size_t, schedule::max_in_flight> ended{};
    std::size_t num_ended = 0;
    for (std::size_t position = lane.next; position < lane.next + lane.max_running; ++position) {
        const auto index = position % lane.ops.size();
        if (lane.is_running[index] != 0 && poll(lane.ops[index])) {
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
        do_for(lane.ops[index], [&] { complete(lane, index, end_ns); });
    }
    return has_moved;
}

bool Executor::start_ahead(LaneState& lane) {
    bool has_started = false;
    for (std::size_t position = lane.next; position < lane.next + lane.max_running; ++position) {
        const auto index = position % lane.ops.size();
        const auto step = lane.step + static_cast<std::int64_t>(position / lane.ops.size());
        if (step >= steps_begun_) {
            break;
        }
        if (lane.is_running[index] != 0 || lane.is_done[index] != 0) {
            continue;
        }
        const auto& action = actions_[lane.ops[index]];
        const auto running_before = static_cast<int>(position - lane.next);
        if (!lane.has_any_order && running_before > action.max_running_before) {
            break;
        }
        if (action.is_asynchronous() && missing(lane.ops[index], step, completed_) < 0 &&
            start(lane, index, step)) {
            has_started = true;
        } else if (!lane.has_any_order) {
            break;
        }
    }
    return has_started;
}

void Executor::set_running(LaneState& lane, std::size_t index) {
    lane.is_running[index] = 1;
    if (lane.stream.is_late() && num_late_++ == 0 && node_ != nullptr) {
        node_->polling_started();
    }
}

}  // namespace ziggurat::train
