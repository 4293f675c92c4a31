#include "train/executor.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/idle_wait.hpp"

namespace ziggurat::train {
namespace {

/// A poll of an idle loop in a hundred looks at the clock and the abort flag.
constexpr int polls_between_checks = 100;

}  // namespace

Executor::Executor(const schedule::Program& program,
                   std::vector<Action> actions,
                   const comm::AbortFlag& abort,
                   double hang_seconds)
    : program_{program},
      actions_{std::move(actions)},
      abort_{abort},
      hang_seconds_{hang_seconds},
      lanes_(program.lanes.size()),
      completed_(program.ops.size(), 0) {
    ZG_EXPECTS(actions_.size() == program.ops.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
        lanes_.at(static_cast<std::size_t>(program.ops[op].lane)).ops.push_back(static_cast<int>(op));
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (program.lanes[lane].engine == schedule::Engine::compute) {
            compute_lanes_.push_back(static_cast<int>(lane));
        }
    }
    records_.reserve(3 * program.ops.size() + 16);  // each op may have waited, and lag by a step
}

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

void Executor::complete(LaneState& lane, std::int64_t now_ns) {
    const int op = lane.ops[lane.next];
    ++completed_[static_cast<std::size_t>(op)];
    if (records_.size() < records_.capacity()) {
        records_.push_back({op, -1, lane.step, lane.began_ns, now_ns});
    }
    lane.is_running = false;
    if (++lane.next == lane.ops.size()) {
        lane.next = 0;
        ++lane.step;
    }
}

bool Executor::advance(LaneState& lane) {
    if (!has_work(lane)) {
        return false;
    }
    const int op = lane.ops[lane.next];
    auto& action = actions_[static_cast<std::size_t>(op)];
    if (!lane.is_running) {
        if (missing(op, lane.step) >= 0) {
            return false;
        }
        lane.began_ns = monotonic_ns();
        if (!action.is_asynchronous()) {
            action.run();
            complete(lane, monotonic_ns());
            if (between_ops_) {
                between_ops_();
            }
            return true;
        }
        action.start();
        lane.is_running = true;
    }
    if (!action.poll()) {
        return false;
    }
    complete(lane, monotonic_ns());
    return true;
}

std::pair<int, int> Executor::first_wait() const {
    const LaneState* waiting = nullptr;
    for (const auto& lane : lanes_) {
        if (has_work(lane)) {
            waiting = waiting == nullptr ? &lane : waiting;
        }
    }
    for (const int index : compute_lanes_) {
        const auto& lane = lanes_[static_cast<std::size_t>(index)];
        waiting = has_work(lane) ? &lane : waiting;
    }
    ZG_ENSURES(waiting != nullptr);
    const int op = waiting->ops[waiting->next];
    const int cause = waiting->is_running ? op : missing(op, waiting->step);
    return {op, cause < 0 ? op : cause};
}

void Executor::note_wait(int op, int cause, std::int64_t since_ns, std::int64_t now_ns) {
    if (records_.size() < records_.capacity()) {
        records_.push_back({op, cause, steps_begun_ - 1, since_ns, now_ns});
    }
}

void Executor::give_up(int op, int cause, double seconds) const {
    const auto& waiting = program_.ops[static_cast<std::size_t>(op)];
    const auto& awaited = program_.ops[static_cast<std::size_t>(cause)];
    const auto group =
        awaited.group >= 0
            ? " of group '" + program_.groups[static_cast<std::size_t>(awaited.group)].name + "'"
            : std::string{};
    throw Error{ErrorKind::communication,
                "rank " + std::to_string(program_.rank) + " waited " +
                    std::to_string(static_cast<long>(seconds)) + " s for '" + awaited.label + "'" + group +
                    " before '" + waiting.label +
                    "' (a peer is dead, stopped or far behind). Look at the other ranks' "
                    "messages, or raise run.hang_timeout."};
}

template <class Done>
void Executor::run_until(const Done& done) {
    comm::IdleWait idle;
    std::int64_t waiting_since = 0;
    int waiting_op = -1, waiting_cause = -1, polls = 0;
    while (!done()) {
        bool moved = false;
        for (auto& lane : lanes_) {
            moved = advance(lane) || moved;
        }
        if (moved) {
            if (waiting_op >= 0) {
                note_wait(waiting_op, waiting_cause, waiting_since, monotonic_ns());
                waiting_op = -1;
            }
            idle.reset();
            polls = 0;
            continue;
        }
        if (waiting_op < 0) {
            std::tie(waiting_op, waiting_cause) = first_wait();
            waiting_since = monotonic_ns();
        }
        if (++polls % polls_between_checks == 0) {
            abort_.check(program_.ops[static_cast<std::size_t>(waiting_cause)].label);
            const double seconds = seconds_between(waiting_since, monotonic_ns());
            if (seconds > hang_seconds_) {
                give_up(waiting_op, waiting_cause, seconds);
            }
        }
        idle.idle();
    }
}

void Executor::run_step() {
    records_.clear();
    ++steps_begun_;
    run_until([&] {
        return std::none_of(compute_lanes_.begin(), compute_lanes_.end(),
                            [&](int lane) { return has_work(lanes_[static_cast<std::size_t>(lane)]); });
    });
}

void Executor::finish() {
    run_until([&] {
        return std::none_of(lanes_.begin(), lanes_.end(), [&](const auto& l) { return has_work(l); });
    });
}

}  // namespace ziggurat::train
