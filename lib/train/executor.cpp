#include "train/executor.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <tuple>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/idle_wait.hpp"

namespace ziggurat::train {
namespace {

/// While nothing moves, the abort flag is looked at this often; a rank may sleep as long as that between two
/// polls.
constexpr std::int64_t ns_between_checks = 50'000'000;
/// Work of other lanes on this thread that is shorter is lost in the times of clocks.
constexpr std::int64_t shortest_noted_ns = 1000;

/// Fills values that nothing but its own step reads.
bool computes(const schedule::Op& op) {
    return op.kind == schedule::OpKind::compute || op.kind == schedule::OpKind::loss;
}

/// Says so as long as it lives.
class Inside {
  public:
    explicit Inside(bool& is_inside) noexcept : is_inside_{is_inside} { is_inside_ = true; }
    ~Inside() { is_inside_ = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    bool& is_inside_;
};

}  // namespace

Executor::Executor(const schedule::Program& program,
                   std::vector<Action> actions,
                   const comm::AbortFlag& abort,
                   double hang_seconds,
                   comm::NodeMemory* node)
    : program_{program},
      actions_{std::move(actions)},
      abort_{abort},
      hang_seconds_{hang_seconds},
      node_{node},
      lanes_(program.lanes.size()),
      completed_(program.ops.size(), 0),
      ended_ns_(program.ops.size(), 0) {
    ZG_EXPECTS(actions_.size() == program.ops.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
        lanes_.at(static_cast<std::size_t>(program.ops[op].lane)).ops.push_back(static_cast<int>(op));
        if (program.ops[op].kind == schedule::OpKind::step_end) {
            step_end_ = static_cast<int>(op);
        }
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const auto engine = program.lanes[lane].engine;
        if (engine == schedule::Engine::compute) {
            compute_lanes_.push_back(static_cast<int>(lane));
        }
        lanes_[lane].starts.resize(lanes_[lane].ops.size());
        lanes_[lane].is_running.resize(lanes_[lane].ops.size());
        lanes_[lane].is_done.resize(lanes_[lane].ops.size());
        lanes_[lane].passed.resize(lanes_[lane].ops.size());
        lanes_[lane].has_any_order = schedule::overlaps_itself(engine);
        const bool all_start_early = std::ranges::all_of(
            lanes_[lane].ops, [&](int op) { return actions_[static_cast<std::size_t>(op)].may_start_early; });
        if (lanes_[lane].has_any_order || all_start_early) {
            lanes_[lane].most_running =
                std::min(std::size_t{schedule::most_under_way}, lanes_[lane].ops.size());
        }
    }
    records_.reserve(8 * program.ops.size() + 16);  // each op may have waited, have been moved, lag by a step
}

std::int64_t Executor::bytes_moved(int op) const {
    const auto& count = actions_.at(static_cast<std::size_t>(op)).bytes_moved;
    return count ? count() : 0;
}

std::int64_t Executor::bytes_spared(int op) const {
    const auto& count = actions_.at(static_cast<std::size_t>(op)).bytes_spared;
    return count ? count() : 0;
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
            abort_.does(program_.ops[static_cast<std::size_t>(op)].label, begin_ns);
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
    const int cause = is_under_way(*waiting) ? op : missing(op, waiting->step);
    return {op, cause < 0 ? op : cause};
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
    const Inside inside{is_in_step_};
    comm::IdleWait idle{node_};
    std::int64_t waiting_since = 0;
    is_waiting_ = false;
    std::int64_t next_check = 0;
    int waiting_op = -1, waiting_cause = -1;
    while (!done()) {
        bool moved = false;
        for (auto& lane : lanes_) {
            moved = advance(lane) || moved;
        }
        if (moved) {
            if (waiting_op >= 0) {
                note_wait(waiting_op, waiting_cause, waiting_since, monotonic_ns());
                waiting_op = -1;
                is_waiting_ = false;
                abort_.moves();
            }
            idle.reset();
            continue;
        }
        if (waiting_op < 0) {
            std::tie(waiting_op, waiting_cause) = first_wait();
            waiting_since = monotonic_ns();
            next_check = waiting_since + ns_between_checks;
            is_waiting_ = true;
        }
        if (const auto now = monotonic_ns(); now >= next_check) {
            next_check = now + ns_between_checks;
            abort_.check(program_.ops[static_cast<std::size_t>(waiting_cause)].label);
            const double seconds = seconds_between(waiting_since, now);
            if (seconds > hang_seconds_ && !abort_.is_watched()) {
                give_up(waiting_op, waiting_cause, seconds);
            }
        }
        idle.idle();
    }
}

void Executor::advance() {
    if (!is_in_step_) {
        for (auto& lane : lanes_) {
            advance(lane);
        }
    }
}

void Executor::run_step() {
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(num_told_));
    is_abandoned_ = false;
    ++steps_begun_;
    step_began_ns_ = monotonic_ns();
    run_until([&] {
        const bool has_ended =
            step_end_ < 0 || completed_[static_cast<std::size_t>(step_end_)] == steps_begun_;
        return has_ended && std::none_of(compute_lanes_.begin(), compute_lanes_.end(), [&](int lane) {
                   return has_work(lanes_[static_cast<std::size_t>(lane)]);
               });
    });
    num_told_ = records_.size();
    step_ended_ns_ = monotonic_ns();
}

void Executor::finish() {
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(num_told_));
    step_began_ns_ = monotonic_ns();
    run_until([&] {
        return std::none_of(lanes_.begin(), lanes_.end(), [&](const auto& l) { return has_work(l); });
    });
    num_told_ = records_.size();
    step_ended_ns_ = monotonic_ns();
}

}  // namespace ziggurat::train
