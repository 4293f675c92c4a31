#include "base/error.hpp"
#include "comm/wait_context.hpp"
#include "train/step/executor.hpp"
#include "train/step/late_failure.hpp"

namespace ziggurat::train {
namespace {

/// Returns true if the query of an event reports an error.
bool tells_error(const device::Event& event) {
    try {
        static_cast<void>(event.is_done());
        return false;
    } catch (...) {
        return true;
    }
}

}  // namespace

Executor::~Executor() {
    const bool is_under_way = num_late_ > 0;
    for (const auto& lane : lanes_) {
        try {
            lane.stream.finish();
        } catch (...) {  // the failed op is determined below
        }
    }
    if (is_under_way && node_ != nullptr) {
        node_->polling_ended();
    }
    if (!has_failed_) {
        tell_failure();
    }
}

bool Executor::is_done_beside(int op) const noexcept {
    return lane_of(op).stream.is_late() || actions_[static_cast<std::size_t>(op)].computes_beside;
}

bool Executor::has_failed(int op) const {
    return tells_error(events_[static_cast<std::size_t>(op)].end);
}

int Executor::failed_before(int op) const {
    const auto& lane = lane_of(op);
    for (std::size_t place = 0; place < lane.num_issued; ++place) {
        const int in_front = lane.ops[(lane.next + place) % lane.ops.size()];
        if (in_front == op) {
            break;
        }
        if (has_failed(in_front)) {
            return in_front;
        }
    }
    const auto step = completed_[static_cast<std::size_t>(op)];
    const auto find = [&](const std::vector<int>& awaited, std::int64_t in_step) {
        for (const int other : awaited) {
            const auto number = static_cast<std::size_t>(other);
            const bool is_issued = completed_[number] <= in_step && issued_[number] > in_step;
            if (is_issued && has_failed(other)) {
                return other;
            }
        }
        return -1;
    };
    const auto& waiting = program_.ops[static_cast<std::size_t>(op)];
    const int found = find(waiting.waits_for, step);
    return found >= 0 ? found : find(waiting.waits_for_previous_step, step - 1);
}

int Executor::first_failed(int op) const {
    // The loop terminates: dependencies of an op were issued before it.
    for (int before = failed_before(op); before >= 0; before = failed_before(op)) {
        op = before;
    }
    return op;
}

int Executor::any_failed() const {
    for (const auto& lane : lanes_) {
        for (std::size_t place = 0; place < lane.num_issued; ++place) {
            const int op = lane.ops[(lane.next + place) % lane.ops.size()];
            if (has_failed(op)) {
                return op;
            }
        }
    }
    return -1;
}

bool Executor::is_device_lost() const {
    // No op that can fail was issued before this event.
    return first_event_ && tells_error(*first_event_);
}

FailedOp Executor::failed(int op) const {
    return {program_.ops[static_cast<std::size_t>(op)].label, !is_device_lost()};
}

void Executor::throw_failure(int op) {
    has_failed_ = true;
    const bool is_beside = is_done_beside(op);
    const int from = is_beside ? op : any_failed();
    const int found = from < 0 ? op : first_failed(from);
    if (found != op) {
        try {
            static_cast<void>(events_[static_cast<std::size_t>(found)].end.is_done());
        } catch (...) {
            throw_failure_of(failed(found));
        }
    }
    if (is_beside) {
        throw_failure_of(failed(op));
    }
    const auto& collective = program_.ops[static_cast<std::size_t>(op)];
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

void Executor::tell_failure() const {
    const int any = any_failed();
    if (any < 0) {
        return;
    }
    const int first = first_failed(any);
    try {
        static_cast<void>(events_[static_cast<std::size_t>(first)].end.is_done());
    } catch (...) {
        tell_failure_of(failed(first), context_, num_exceptions_);
    }
}

}  // namespace ziggurat::train
