#include "plan/simulator/rank_lanes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "schedule/layer_passes.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Engine;
using schedule::OpKind;
using schedule::Program;

std::optional<Shared> shared_by(Engine engine, const Rates& rates) {
    switch (engine) {
        case Engine::compute:
        case Engine::host_optimizer:
        case Engine::collective:
            return rates.has_device ? std::nullopt : std::optional{Shared::processor};
        case Engine::nvme_read:
            return Shared::disks;
        case Engine::nvme_write:
            return rates.has_shared_disks ? Shared::disks : Shared::disks_for_writing;
        case Engine::channel:
        case Engine::host_to_device:
        case Engine::device_to_host:
        case Engine::step_end:
            break;
    }
    return std::nullopt;
}

}  // namespace

RankLanes::RankLanes(const Program& program, std::vector<double> seconds, const Rates& rates)
    : program_{&program},
      seconds_{std::move(seconds)},
      holds_(program.ops.size()),
      next_in_step_{invert(program, &schedule::Op::waits_for)},
      next_in_next_step_{invert(program, &schedule::Op::waits_for_previous_step)},
      ops_of_lane_(program.lanes.size()) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        lane_of_op_.push_back(op.lane);
        ops_of_lane_[op.lane].push_back(static_cast<int>(i));
        const bool bounds = program.lanes[op.lane].engine == Engine::compute || op.kind == OpKind::step_end;
        bounds_step_.push_back(bounds);
        num_step_ops_ += bounds ? 1 : 0;
    }
    for (const auto& lane : program.lanes) {
        windows_.push_back(schedule::overlaps_itself(lane.engine) ? schedule::max_in_flight : 1);
        serves_updates_.push_back(lane.serves_updates);
        is_compute_lane_.push_back(lane.engine == Engine::compute);
        shared_of_lane_.push_back(shared_by(lane.engine, rates));
    }
    hold_layers(rates.layer_forward);
}

int RankLanes::num_waits(int op, bool has_previous_step) const {
    const auto& known = program_->ops[index(op)];
    return static_cast<int>(known.waits_for.size() +
                            (has_previous_step ? known.waits_for_previous_step.size() : 0));
}

double RankLanes::busy_seconds() const {
    std::array<double, num_shared> of_shared{};
    std::vector<double> of_lane(num_lanes());
    for (int op = 0; op < static_cast<int>(num_ops()); ++op) {
        if (const auto used = shared(op)) {
            of_shared[*used] += seconds(op);
        } else if (window(lane_of(op)) == 1) {
            of_lane[lane_of(op)] += seconds(op);
        }
    }
    return std::max(std::ranges::max(of_shared), of_lane.empty() ? 0 : std::ranges::max(of_lane));
}

RankLanes::Successors RankLanes::invert(const Program& program,
                                        std::vector<schedule::OpId> schedule::Op::*waits) {
    Successors made;
    made.begins.resize(program.ops.size() + 1);
    for (const auto& op : program.ops) {
        for (const int before : op.*waits) {
            ++made.begins[index(before) + 1];
        }
    }
    std::partial_sum(made.begins.begin(), made.begins.end(), made.begins.begin());
    made.ops.resize(made.begins.back());
    auto next = made.begins;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const int before : program.ops[i].*waits) {
            made.ops[next[index(before)]++] = static_cast<int>(i);
        }
    }
    return made;
}

void RankLanes::hold_layers(double layer_forward) {
    if (layer_forward <= 0) {
        return;
    }
    for (const auto& pass : schedule::layer_passes(*program_)) {
        const double min = layer_forward * pass.forwards;
        if (pass.first == pass.last) {
            seconds_[index(pass.last)] += min;
        } else {
            holds_[index(pass.last)] = {pass.first, min};
        }
    }
}

}  // namespace ziggurat::plan
