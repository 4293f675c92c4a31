#include "train/step/executor.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/idle_wait.hpp"

namespace ziggurat::train {
namespace {

/// While nothing moves, the end of the job is looked for this often; a rank may sleep as long as that between
/// two polls.
constexpr std::int64_t ns_between_checks = 50'000'000;

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
                   comm::WaitContext context,
                   double hang_seconds,
                   comm::NodeMemory* node)
    : program_{program},
      actions_{std::move(actions)},
      context_{context},
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
                context_.moves();
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
            context_.check(program_.ops[static_cast<std::size_t>(waiting_cause)].label);
            const double seconds = seconds_between(waiting_since, now);
            if (seconds > hang_seconds_ && !context_.is_watched()) {
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
