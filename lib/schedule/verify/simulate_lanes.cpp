#include <algorithm>

#include "schedule/verify/simulate_lanes.hpp"

namespace ziggurat::schedule::simulation {

SimulationResult Simulation::run(const ExpectedResults* truth) {
    while (!runnable_.empty() && !is_over()) {
        const auto drawn = draw();
        const LaneId lane = runnable_[drawn];
        runnable_[drawn] = runnable_.back();
        runnable_.pop_back();
        advance(lane);
    }
    if (!is_over()) {
        look_for_what_is_left();
    }
    const bool trains = std::any_of(programs_.begin(), programs_.end(),
                                    [](const Program& program) { return program.variant == Variant::train; });
    if (!is_over() && truth != nullptr && trains) {
        result_.fingerprint = world_.check_states(options_.steps);
    }
    return std::move(result_);
}

void Simulation::add_rank(int rank) {
    const auto& program = programs_[rank];
    std::vector<LaneState> mine(program.lanes.size());
    for (OpId op = 0; op < program.ops.end_id(); ++op) {
        mine.at(program.ops[op].lane).ops.push_back(op);
    }
    done_.emplace_back(program.ops.size(), 0);
    waiters_.emplace_back(program.ops.size());
    for (auto& lane : mine) {
        lane.rank = rank;
        lane.weight = static_cast<double>(random() % 1000);
        lane.phase = lane.ops.empty() ? LaneState::Phase::ended : LaneState::Phase::idle;
        if (!lane.ops.empty() && options_.steps > 0) {
            runnable_.push_back(static_cast<int>(lanes_.size()));
        }
        lanes_.push_back(std::move(lane));
    }
}

std::size_t Simulation::draw() {
    const std::size_t any = random() % runnable_.size();
    if (options_.seed % 2 == 0 || random() % 8 == 0) {
        return any;
    }
    std::size_t best = any;
    for (std::size_t i = 0; i < runnable_.size(); ++i) {
        if (lane_at(runnable_[i]).weight > lane_at(runnable_[best]).weight) {
            best = i;
        }
    }
    return best;
}

int Simulation::missing(const LaneState& lane) const {
    const auto& op = op_of(lane);
    const auto& done = done_[lane.rank];
    for (const int w : op.waits_for) {
        if (done.at(w) <= lane.step) {
            return w;
        }
    }
    for (const int w : op.waits_for_previous_step) {
        if (done.at(w) < lane.step) {
            return w;
        }
    }
    return -1;
}

void Simulation::advance(int index) {
    auto& lane = lane_at(index);
    if (lane.phase == LaneState::Phase::running) {
        end(index);
        return;
    }
    const int wanted = missing(lane);
    if (wanted >= 0) {
        lane.phase = LaneState::Phase::blocked;
        waiters_[lane.rank][wanted].push_back(index);
        return;
    }
    const auto& op = op_of(lane);
    world_.check_predicate(lane.rank, lane.op(), step_of(lane));
    lane.is_skipped = skips(lane);
    lane.found = lane.is_skipped ? Found{} : world_.begin(lane.rank, lane.op(), step_of(lane));
    const bool meets = op.group >= 0 && (class_of(op.kind) == OpClass::step_end || is_collective(op.kind));
    if (lane.is_skipped && (!meets || is_message(op.kind))) {
        start(index);
    } else if (is_message(op.kind)) {
        lane.phase = LaneState::Phase::joined;
        message(index);
    } else if (meets) {
        lane.phase = LaneState::Phase::joined;
        join(index);
    } else {
        lane.values = world_.local(lane.rank, lane.op(), step_of(lane), lane.found);
        start(index);
    }
}

void Simulation::start(int index) {
    lane_at(index).phase = LaneState::Phase::running;
    runnable_.push_back(index);
}

void Simulation::end(int index) {
    auto& lane = lane_at(index);
    if (!lane.is_skipped) {
        world_.finish(lane.rank, lane.op(), step_of(lane), lane.values);
    }
    ++result_.ops_run;
    const std::size_t rank = lane.rank;
    const std::size_t op = lane.op();
    done_[rank][op] = lane.step + 1;
    for (const int waiter : std::exchange(waiters_[rank][op], {})) {
        lane_at(waiter).phase = LaneState::Phase::idle;
        runnable_.push_back(waiter);
    }
    lane.phase = LaneState::Phase::idle;
    if (++lane.next == lane.ops.size()) {
        lane.next = 0;
        if (++lane.step == num_runs(lane.rank)) {
            lane.phase = LaneState::Phase::ended;
            return;
        }
    }
    runnable_.push_back(index);
}

}  // namespace ziggurat::schedule::simulation
