#include <algorithm>
#include <exception>

#include "base/error.hpp"
#include "comm/wait_context.hpp"
#include "train/ops/late_failure.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

/// Returns true if the query of an event reports an error.
bool reports_error(const device::Event& event) {
    try {
        static_cast<void>(event.is_done());
        return false;
    } catch (...) {
        return true;
    }
}

}  // namespace

Executor::~Executor() {
    const bool is_in_flight = num_late_ > 0;
    if (has_failed_ || std::uncaught_exceptions() > num_exceptions_) {
        abort_issued();
    }
    for (const auto& lane : lanes_) {
        try {
            lane.stream.finish();
        } catch (...) {  // the failed op is determined below
        }
    }
    if (is_in_flight && node_ != nullptr) {
        node_->polling_ended();
    }
    if (!has_failed_) {
        report_failure();
    }
}

void Executor::abort_issued() const {
    for (const auto& lane : lanes_) {
        const auto in_flight = lane.stream.is_late() ? lane.num_issued + 1 : 0;  // the last one may be held
        for (std::size_t position = 0; position < std::min(in_flight, lane.ops.size()); ++position) {
            const auto index = (lane.next + position) % lane.ops.size();
            const bool has_begun = lane.is_running[index] != 0 || lane.held[index] == Held::is_enqueued;
            if (const auto& abort = actions_[lane.ops[index]].abort; has_begun && abort) {
                abort();
            }
        }
    }
}

bool Executor::is_done_concurrently(schedule::OpId op) const noexcept {
    const bool has_other_ranks = program_.ops[op].group >= 0;
    return !has_other_ranks && (lane_of(op).stream.is_late() || actions_[op].computes_concurrently);
}

bool Executor::has_failed(schedule::OpId op) const {
    return reports_error(events_[op].end);
}

schedule::OpId Executor::failed_before(schedule::OpId op) const {
    const auto& lane = lane_of(op);
    for (std::size_t position = 0; position < lane.num_issued; ++position) {
        const schedule::OpId in_front = lane.ops[(lane.next + position) % lane.ops.size()];
        if (in_front == op) {
            break;
        }
        if (has_failed(in_front)) {
            return in_front;
        }
    }
    const auto step = completed_[op];
    const auto find = [&](const std::vector<schedule::OpId>& awaited, std::int64_t in_step) {
        for (const auto other : awaited) {
            const bool is_issued = completed_[other] <= in_step && issued_[other] > in_step;
            if (is_issued && has_failed(other)) {
                return other;
            }
        }
        return schedule::OpId{};
    };
    const auto& waiting = program_.ops[op];
    const auto found = find(waiting.waits_for, step);
    return found >= 0 ? found : find(waiting.waits_for_previous_step, step - 1);
}

schedule::OpId Executor::first_failed(schedule::OpId op) const {
    // The loop terminates: dependencies of an op were issued before it.
    for (int before = failed_before(op); before >= 0; before = failed_before(op)) {
        op = before;
    }
    return op;
}

schedule::OpId Executor::any_failed() const {
    for (const auto& lane : lanes_) {
        for (std::size_t position = 0; position < lane.num_issued; ++position) {
            const schedule::OpId op = lane.ops[(lane.next + position) % lane.ops.size()];
            if (has_failed(op)) {
                return op;
            }
        }
    }
    return -1;
}

bool Executor::is_device_lost() const {
    // No op that can fail was issued before this event.
    return first_event_ && reports_error(*first_event_);
}

FailedOp Executor::failed(schedule::OpId op) const {
    return {program_.ops[op].label, !is_device_lost()};
}

void Executor::throw_failure(schedule::OpId op) {
    has_failed_ = true;
    const bool is_concurrent = is_done_concurrently(op);
    const int from = is_concurrent ? op : any_failed();
    const int found = from < 0 ? op : first_failed(from);
    if (found != op) {
        try {
            static_cast<void>(events_[found].end.is_done());
        } catch (...) {
            throw_failure_of(failed(found));
        }
    }
    if (is_concurrent) {
        throw_failure_of(failed(op));
    }
    const auto& collective = program_.ops[op];
    if (collective.group < 0) {
        throw;
    }
    try {
        throw;
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::communication) {
            throw;  // its message already names the operation
        }
        throw_failure_of({collective.label});  // failed copies between a device and the host
    }
}

void Executor::report_failure() const {
    const int any = any_failed();
    if (any < 0) {
        return;
    }
    const int first = first_failed(any);
    try {
        static_cast<void>(events_[first].end.is_done());
    } catch (...) {
        report_failure_of(failed(first), context_, num_exceptions_);
    }
}

}  // namespace ziggurat::train
