#include <algorithm>
#include <string>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

std::pair<schedule::OpId, schedule::OpId> Executor::first_wait() const {
    const LaneState* waiting = nullptr;
    for (const auto& lane : lanes_) {
        if (has_work(lane)) {
            waiting = waiting == nullptr ? &lane : waiting;
        }
    }
    for (const int index : compute_lanes_) {
        const auto& lane = lanes_[index];
        waiting = has_work(lane) ? &lane : waiting;
    }
    ZG_ENSURES(waiting != nullptr);
    const schedule::OpId op = waiting->ops[waiting->next];
    const schedule::OpId cause =
        is_in_flight(*waiting) ? op
                               : missing(op, waiting->step, waiting->stream.is_late() ? issued_ : completed_);
    return {op, find_blocking_op(cause < 0 ? op : cause)};
}

schedule::OpId Executor::find_blocking_op(schedule::OpId op) const {
    // The loop terminates: dependencies of an issued op are done, or were issued before it.
    while (true) {
        const auto& lane = lane_of(op);
        const auto number = op;
        const bool is_issued = issued_[number] > completed_[number];
        const int first = is_issued ? lane.ops[lane.next] : op;
        const int other = missing(first, completed_[first], completed_);
        if (other < 0 || issued_[other] == completed_[other]) {
            return first;
        }
        op = other;
    }
}

std::string_view Executor::hold_reason(schedule::OpId op) const {
    const auto& lane = lane_of(op);
    const std::size_t index = std::ranges::find(lane.ops, op) - lane.ops.begin();
    const bool is_held = lane.held[index] != Held::no && lane.is_running[index] == 0;
    return is_held ? actions_[op].hold_reason : "";
}

std::pair<std::string_view, comm::WaitTarget> Executor::awaited(schedule::OpId op) const {
    if (const auto held = hold_reason(op); !held.empty()) {
        return {held, comm::WaitTarget::others};
    }
    const auto number = op;
    const bool is_own = is_done_concurrently(op) && missing(op, completed_[number], completed_) < 0;
    return {program_.ops[number].label, is_own ? comm::WaitTarget::own_device : comm::WaitTarget::others};
}

void Executor::abort_on_hang(schedule::OpId op, schedule::OpId cause, double seconds) const {
    const auto& before = program_.ops[op].label;
    const auto [what, whose] = awaited(cause);
    const bool is_own = whose == comm::WaitTarget::own_device;
    const int group = program_.ops[cause].group;
    throw Error{is_own ? ErrorKind::resource : ErrorKind::communication,
                "rank " + std::to_string(program_.rank) + " waited " +
                    std::to_string(static_cast<long>(seconds)) + " s for '" + std::string{what} + "'" +
                    (group >= 0 ? " of group '" + program_.groups[group].name + "'" : "") + " before '" +
                    before +
                    (is_own ? "' (its own device has not finished). Check the device, "
                            : "' (a peer is dead, stopped or too slow). Check the messages of the other "
                              "ranks, ") +
                    "or raise run.hang_timeout."};
}

}  // namespace ziggurat::train
