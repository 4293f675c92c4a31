#include "plan/step_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "schedule/layer_passes.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Engine;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;

/// Steps that are not counted: only later steps start with memory and lanes in use.
constexpr int warm_up_steps = 2;
constexpr int steps_counted = 2;

/// Simulation of the lanes of one rank over some steps.
class Race {
  public:
    Race(const Program& program, const Rates& rates)
        : program_{program},
          rates_{rates},
          lanes_(program.lanes.size()),
          holds_(program.ops.size()),
          ends_(program.ops.size()) {
        for (std::size_t op = 0; op < program.ops.size(); ++op) {
            lanes_[program.ops[op].lane].ops.push_back(op);
            seconds_.push_back(op_seconds(program.ops[op], program, rates));
        }
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            const auto num_ops = static_cast<std::int64_t>(lanes_[lane].ops.size());
            lanes_[lane].shared = shared_by(engine(lane));
            lanes_[lane].positions = schedule::overlaps_itself(engine(lane))
                                         ? std::min<std::int64_t>(schedule::max_in_flight, num_ops)
                                         : 1;
        }
        hold_layers();
    }

    double run() {
        for (int step = 0; step < warm_up_steps + steps_counted; ++step) {
            begun_.push_back(begun_.empty() ? 0 : computed_);
            while (computing_step() == step && advance()) {}
        }
        return (computed_ - begun_[warm_up_steps]) / steps_counted;
    }

  private:
    static constexpr double never = std::numeric_limits<double>::infinity();

    /// Resources that several lanes share; each op uses one alone. All reads share the disks, and so do all
    /// writes; reads and writes share them too if rates_.has_shared_disks is set.
    enum class Shared { nothing, processor, disks, disks_for_writing };
    static constexpr std::size_t num_shared = 4;

    /// State of a lane, which can have several ops in flight.
    struct LaneState {
        Shared shared = Shared::nothing;
        std::vector<std::size_t> ops;
        std::int64_t next = 0;  ///< first position, counted over all steps, that is not known to be done
        std::int64_t positions = 1;
        std::array<double, schedule::max_in_flight> ends{};  ///< of positions from `next` on; 0: not begun
        std::array<double, schedule::max_in_flight> done{};  ///< of the same number of positions before
        double free = 0;
        double last_done = 0;

        int step_of(std::int64_t position) const {
            return static_cast<int>(position / static_cast<std::int64_t>(ops.size()));
        }
        std::size_t op_of(std::int64_t position) const { return ops[position % ops.size()]; }
        static std::size_t slot(std::int64_t position) { return position % schedule::max_in_flight; }
    };

    /// Earliest begin of the last op of a layer pass: `seconds` after the begin of its first op.
    struct Hold {
        int first = -1;
        double seconds = 0;
    };

    void hold_layers() {
        if (rates_.layer_forward <= 0) {
            return;
        }
        for (const auto& pass : schedule::layer_passes(program_)) {
            const double min = rates_.layer_forward * (pass.is_forward ? 1 : 2);
            const std::size_t last = pass.last;
            if (pass.first == pass.last) {
                seconds_[last] += min;
            } else {
                holds_[last] = {pass.first, min};
            }
        }
    }

    /// Returns the earliest begin of the op of `hold`, for the latest step in which its first op has begun.
    double held_until(const Hold& hold) const {
        const std::size_t first = hold.first;
        const auto& ends = ends_[first];
        return ends.empty() ? 0 : ends.back() - seconds_[first] + hold.seconds;
    }

    Engine engine(std::size_t lane) const { return program_.lanes[lane].engine; }

    bool bounds_step(std::size_t lane) const { return engine(lane) == Engine::compute; }

    Shared shared_by(Engine engine) const {
        switch (engine) {
            case Engine::compute:
            case Engine::host_optimizer:
            case Engine::collective:
                return rates_.has_device ? Shared::nothing : Shared::processor;
            case Engine::nvme_read:
                return Shared::disks;
            case Engine::nvme_write:
                return rates_.has_shared_disks ? Shared::disks : Shared::disks_for_writing;
            case Engine::channel:
            case Engine::host_to_device:
            case Engine::device_to_host:
            case Engine::step_end:
                break;
        }
        return Shared::nothing;
    }

    /// Returns the step of the slowest compute lane.
    int computing_step() const {
        int step = std::numeric_limits<int>::max();
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            if (bounds_step(lane) && !lanes_[lane].ops.empty()) {
                step = std::min(step, lanes_[lane].step_of(lanes_[lane].next));
            }
        }
        return step;
    }

    /// Returns the time at which everything that `op` waits for has ended; never: not yet known.
    double ready(const Op& op, int step) const {
        double at = begun_[step];
        const auto wait = [&](int other, int in_step) {
            const auto& ends = ends_[other];
            if (in_step >= 0) {
                at = ends.size() > static_cast<std::size_t>(in_step) ? std::max(at, ends[in_step]) : never;
            }
        };
        for (const int other : op.waits_for) {
            wait(other, step);
        }
        for (const int other : op.waits_for_previous_step) {
            wait(other, step - 1);
        }
        return at;
    }

    /// Returns the begin of the op at `position` of a lane; never: not yet known, or already begun.
    double begin_of(std::size_t index, std::int64_t position) const {
        const auto& lane = lanes_[index];
        const int step = lane.step_of(position);
        if (step >= static_cast<int>(begun_.size()) || lane.ends[lane.slot(position)] > 0) {
            return never;
        }
        const auto op = lane.op_of(position);
        const double at = std::max({lane.free, lane.done[lane.slot(position)], ready(program_.ops[op], step),
                                    holds_[op].first < 0 ? 0 : held_until(holds_[op])});
        return lane.shared == Shared::nothing ? at : std::max(at, free_of(lane.shared));
    }

    double free_of(Shared shared) const { return shared_free_[shared]; }

    /// True if `lane` goes before `other` when both can continue at the same time: lanes that serve passes
    /// first, then the lane that has waited longer.
    bool goes_before(std::size_t lane, std::size_t other) const {
        const auto rank = [&](std::size_t l) {
            return std::pair{program_.lanes[l].serves_updates, lanes_[l].free};
        };
        return rank(lane) < rank(other);
    }

    /// Starts the op that can begin first; returns false if no op can begin.
    bool advance() {
        std::size_t first = lanes_.size();
        std::int64_t first_place = 0;
        double begin = never;
        for (std::size_t l = 0; l < lanes_.size(); ++l) {
            const auto& lane = lanes_[l];
            const auto end = lane.ops.empty() ? lane.next : lane.next + lane.positions;
            for (auto position = lane.next; position < end; ++position) {
                const double at = begin_of(l, position);
                if (at < begin || (at == begin && at < never && goes_before(l, first))) {
                    begin = at;
                    first = l;
                    first_place = position;
                }
            }
        }
        if (first == lanes_.size()) {
            return false;
        }
        go(first, first_place, begin);
        return true;
    }

    void go(std::size_t index, std::int64_t position, double begin) {
        auto& lane = lanes_[index];
        const auto op = lane.op_of(position);
        const double end = std::max(begin + seconds_[op], std::numeric_limits<double>::min());
        lane.free = end;
        lane.ends[lane.slot(position)] = end;
        ends_[op].push_back(end);
        shared_free_[lane.shared] = end;
        const bool ends_step = program_.ops[op].kind == OpKind::step_end;
        computed_ = bounds_step(index) || ends_step ? std::max(computed_, end) : computed_;
        for (; lane.ends[lane.slot(lane.next)] > 0; ++lane.next) {
            auto& of_next = lane.ends[lane.slot(lane.next)];
            lane.last_done = std::max(lane.last_done, of_next);
            lane.done[lane.slot(lane.next)] = lane.positions > 1 ? lane.last_done : 0;
            of_next = 0;
        }
    }

    const Program& program_;
    Rates rates_;
    std::vector<LaneState> lanes_;
    std::vector<double> seconds_;            ///< by op
    std::vector<Hold> holds_;                ///< by op; `first` is -1 if it has no hold
    std::vector<std::vector<double>> ends_;  ///< by op and step
    std::vector<double> begun_;              ///< by step
    EnumArray<Shared, double, num_shared> shared_free_{};
    double computed_ = 0;  ///< end of the work of compute lanes and step ends
};

}  // namespace

double step_seconds(const Program& program, const Rates& rates) {
    return Race{program, rates}.run();
}

}  // namespace ziggurat::plan
