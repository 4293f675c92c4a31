#include "train/step/executor.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <tuple>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/backoff.hpp"

namespace ziggurat::train {
namespace {

/// Interval of the checks for an abort of the job while no lane progresses.
///
/// A rank may sleep as long as that between two polls.
constexpr std::int64_t ns_between_checks = 50'000'000;

/// Limits of the number of ops that are issued ahead to a device.
///
/// The number is large enough to keep the device busy while this thread does other work. It is a small part
/// of a step, so that an abandoned step ends soon.
constexpr std::size_t min_ahead = 16;
constexpr std::size_t parts_of_step = 32;

/// Returns true if the op reads or writes a buffer that the caller of run_step fills or reads.
bool is_on_inputs(const schedule::Program& program, const schedule::Op& op) {
    const auto is_input = [&](const schedule::Operand& operand) {
        const auto& buffer = program.buffers[operand.buffer];
        return buffer.lifetime == schedule::Lifetime::inputs && buffer.tier == spec::Tier::host;
    };
    return std::ranges::any_of(op.reads, is_input) || std::ranges::any_of(op.writes, is_input);
}

/// Sets a flag for the lifetime of this object.
class ScopedFlag {
  public:
    explicit ScopedFlag(bool& is_inside) noexcept : is_inside_{is_inside} { is_inside_ = true; }
    ~ScopedFlag() { is_inside_ = false; }
    ScopedFlag(const ScopedFlag&) = delete;
    ScopedFlag& operator=(const ScopedFlag&) = delete;

  private:
    bool& is_inside_;
};

}  // namespace

Executor::Executor(const schedule::Program& program,
                   std::vector<Action> actions,
                   comm::WaitContext context,
                   double hang_seconds,
                   comm::NodeMemory* node,
                   std::vector<device::Stream> streams)
    : program_{program},
      actions_{std::move(actions)},
      context_{context},
      hang_seconds_{hang_seconds},
      node_{node},
      lanes_(program.lanes.size()),
      completed_(program.ops.size(), 0),
      issued_(program.ops.size(), 0),
      ended_ns_(program.ops.size()),
      times_skipped_(program.ops.size(), 0),
      is_skipped_(program.ops.size(), 0),
      num_exceptions_{std::uncaught_exceptions()} {
    ZG_EXPECTS(actions_.size() == program.ops.size());
    ZG_EXPECTS(streams.empty() || streams.size() == lanes_.size());
    for (std::size_t lane = 0; lane < streams.size(); ++lane) {
        lanes_[lane].stream = streams[lane];
        if (streams[lane].is_late() && !first_event_) {
            first_event_.emplace(streams[lane]).record(streams[lane]);
        }
    }
    events_.reserve(program.ops.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
        auto& lane = lanes_.at(program.ops[op].lane);
        lane.ops.push_back(static_cast<int>(op));
        events_.push_back({device::Event{lane.stream}, device::Event{lane.stream}});
        if (program.ops[op].kind == schedule::OpKind::step_end) {
            step_end_ = static_cast<int>(op);
        }
        if (is_on_inputs(program, program.ops[op])) {
            on_inputs_.push_back(static_cast<int>(op));
        }
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const auto engine = program.lanes[lane].engine;
        if (engine == schedule::Engine::compute) {
            compute_lanes_.push_back(static_cast<int>(lane));
            lanes_[lane].computes = true;
            computes_late_ = computes_late_ || lanes_[lane].stream.is_late();
        }
        lanes_[lane].starts.resize(lanes_[lane].ops.size());
        lanes_[lane].is_running.resize(lanes_[lane].ops.size());
        lanes_[lane].is_done.resize(lanes_[lane].ops.size());
        lanes_[lane].held.resize(lanes_[lane].ops.size());
        lanes_[lane].follows.resize(lanes_[lane].ops.size());
        for (const schedule::OpId op : lanes_[lane].ops) {
            lanes_[lane].is_independent.push_back(depends_on_own_lane(program.ops[op]) ? 1 : 0);
        }
        lanes_[lane].max_ahead = std::max(min_ahead, lanes_[lane].ops.size() / parts_of_step);
        lanes_[lane].passed.resize(lanes_[lane].ops.size());
        lanes_[lane].has_any_order = schedule::overlaps_itself(engine);
        const bool has_early_starts = std::ranges::any_of(
            lanes_[lane].ops, [&](schedule::OpId op) { return actions_[op].max_running_before > 0; });
        if (lanes_[lane].has_any_order || has_early_starts) {
            lanes_[lane].max_running =
                std::min(std::size_t{schedule::max_in_flight}, lanes_[lane].ops.size());
        }
    }
    // Each op can have a stall, and work for another lane as a stall; ops of the step before may end late.
    records_.reserve(8 * program.ops.size() + 16);
}

std::int64_t Executor::bytes_moved(schedule::OpId op) const {
    const auto& count = actions_.at(op).bytes_moved;
    return count ? count() : 0;
}

std::int64_t Executor::skipped_bytes(schedule::OpId op) const {
    const auto& count = actions_.at(op).skipped_bytes;
    return count ? count() : 0;
}

template <class Done>
void Executor::run_until(const Done& done) {
    const ScopedFlag inside{is_in_step_};
    comm::Backoff idle{node_};
    std::int64_t waiting_since = 0;
    is_waiting_ = false;
    std::int64_t next_check = 0;
    int waiting_op = -1, waiting_cause = -1;
    bool is_held = false;  // if true, the wait counts as time of the op itself
    while (!done()) {
        const bool moved = advance_all();
        if (moved) {
            if (waiting_op >= 0) {
                if (!computes_late_ && !is_held) {
                    note_wait(waiting_op, waiting_cause, waiting_since, monotonic_ns());
                }
                waiting_op = -1;
                is_waiting_ = false;
                context_.end_wait();
            }
            idle.reset();
            continue;
        }
        if (while_waiting_) {
            while_waiting_();
        }
        if (waiting_op < 0) {
            std::tie(waiting_op, waiting_cause) = first_wait();
            waiting_since = monotonic_ns();
            next_check = waiting_since + ns_between_checks;
            is_waiting_ = true;
            is_held = waiting_op == waiting_cause && !hold_reason(waiting_op).empty();
        }
        if (const auto now = monotonic_ns(); now >= next_check) {
            next_check = now + ns_between_checks;
            const auto [what, whose] = awaited(waiting_cause);
            context_.check(what, whose);
            const double seconds = seconds_between(waiting_since, now);
            if (seconds > hang_seconds_ && !context_.is_watched()) {
                abort_on_hang(waiting_op, waiting_cause, seconds);
            }
        }
        idle.idle();
    }
}

/// Gives each lane a turn. Asynchronous ops come first.
///
/// So those that are ready start before this thread begins a long computation.
bool Executor::advance_all() {
    const auto is_asynchronous = [this](const LaneState& lane) {
        return has_work(lane) && actions_[lane.ops[lane.next]].is_asynchronous();
    };
    bool moved = false;
    for (auto& lane : lanes_) {
        while (is_asynchronous(lane) && advance(lane)) {
            moved = true;
        }
    }
    for (auto& lane : lanes_) {
        moved = (!is_asynchronous(lane) && advance(lane)) || moved;
    }
    return moved;
}

void Executor::advance() {
    if (!is_in_step_) {
        for (auto& lane : lanes_) {
            advance(lane);
        }
        if (while_waiting_) {
            while_waiting_();
        }
    }
}

bool Executor::is_computing() const noexcept {
    return std::ranges::any_of(compute_lanes_,
                               [&](schedule::LaneId lane) { return lanes_[lane].num_issued > 0; });
}

std::int64_t Executor::last_computed_ns() const noexcept {
    std::int64_t last_ns = 0;
    for (const int index : compute_lanes_) {
        const auto& lane = lanes_[index];
        last_ns =
            lane.ops.empty() ? last_ns : std::max(last_ns, lane.passed[in_front(lane, lane.next, 1)].at_ns);
    }
    return last_ns;
}

double Executor::idle_seconds_since(std::int64_t begin_ns) {
    for (const schedule::LaneId lane : compute_lanes_) {
        end_issued(lanes_[lane]);
    }
    return is_computing() ? 0 : seconds_between(std::max(begin_ns, last_computed_ns()), monotonic_ns());
}

void Executor::begin_publishing() {
    for (const schedule::LaneId lane : compute_lanes_) {
        end_issued(lanes_[lane]);
    }
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(num_told_));
    num_told_ = 0;
    step_began_ns_ = is_computing() ? step_ended_ns_ : monotonic_ns();
}

void Executor::end_publishing() {
    num_told_ = records_.size();
    step_ended_ns_ = is_computing() ? std::max(step_began_ns_, last_computed_ns()) : monotonic_ns();
}

bool Executor::can_return_from_step() {
    if (step_end_ >= 0 && completed_[step_end_] != steps_begun_) {
        return false;
    }
    while (num_inputs_done_ < on_inputs_.size() && completed_[on_inputs_[num_inputs_done_]] == steps_begun_) {
        ++num_inputs_done_;
    }
    return num_inputs_done_ == on_inputs_.size() && std::ranges::all_of(compute_lanes_, [&](int index) {
               const auto& lane = lanes_[index];
               return lane.ops.empty() || next_to_issue(lane).step >= steps_begun_;
           });
}

void Executor::run_step() {
    if (before_step_) {
        before_step_();
    }
    begin_publishing();
    is_abandoned_ = false;
    num_inputs_done_ = 0;
    ++steps_begun_;
    run_until([this] { return can_return_from_step(); });
    end_publishing();
}

bool Executor::is_drained() const noexcept {
    return std::ranges::none_of(lanes_, [this](const auto& lane) { return has_work(lane); });
}

void Executor::finish() {
    begin_publishing();
    run_until([this] { return is_drained(); });
    end_publishing();
}

}  // namespace ziggurat::train
