#include "plan/simulator/pipeline_time.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/contract.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Pipeline;
using schedule::Slot;

constexpr double not_yet = -1;

class PipelineRun {
  public:
    PipelineRun(const Pipeline& pipeline, const std::vector<StageSlots>& stages)
        : pipeline_{pipeline},
          stages_{stages},
          turns_back_{spec::turns_back(pipeline.schedule, pipeline.chunks)},
          virtual_stages_{static_cast<std::size_t>(pipeline.stages) * pipeline.chunks},
          orders_{schedule::pipeline_orders(pipeline)},
          forward_(virtual_stages_ * pipeline.microbatches, not_yet),
          backward_(forward_),
          free_(stages.size()),
          busy_(stages.size()),
          next_(stages.size()) {}

    PipelineTimes run() {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
                while (next_[stage] < orders_[stage].size() && advance(stage)) {
                    has_moved = true;
                }
            }
        }
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            ZG_ENSURES(next_[stage] == orders_[stage].size());
            made_.step_seconds = std::max(made_.step_seconds, free_[stage] + stages_[stage].others);
        }
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            made_.idle_seconds.push_back(made_.step_seconds - busy_[stage] - stages_[stage].others);
        }
        return std::move(made_);
    }

  private:
    std::size_t virtual_stage(std::size_t stage, const Slot& slot) const {
        return static_cast<std::size_t>(
            spec::virtual_stage(static_cast<int>(stage), slot.chunk, pipeline_.stages, turns_back_));
    }

    double& of(std::vector<double>& ends, std::size_t virtual_stage, const Slot& slot) const {
        return ends[virtual_stage * pipeline_.microbatches + slot.microbatch];
    }

    /// Runs the next slot of a stage; returns false if its input has not been computed yet.
    bool advance(std::size_t stage) {
        const auto& slot = orders_[stage][next_[stage]];
        if (slot.pass == Slot::Pass::backward_weight) {
            const auto& deferred = stages_[stage].backward_weight;
            take(stage, free_[stage],
                 deferred.empty() ? 0 : deferred.at(static_cast<std::size_t>(slot.chunk)));
            return true;
        }
        const auto at = virtual_stage(stage, slot);
        const bool is_forward = slot.pass == Slot::Pass::forward;
        double ready = 0;
        if (is_forward && at > 0) {
            const double before = of(forward_, at - 1, slot);
            ready = before == not_yet ? not_yet : before + message_seconds(at - 1, at);
        } else if (!is_forward && at + 1 < virtual_stages_) {
            const double after = of(backward_, at + 1, slot);
            ready = after == not_yet ? not_yet : after + message_seconds(at + 1, at);
        }
        if (ready == not_yet) {
            return false;
        }
        const auto& known = stages_[stage];
        const auto chunk = static_cast<std::size_t>(slot.chunk);
        take(stage, std::max(free_[stage], ready), (is_forward ? known.forward : known.backward).at(chunk));
        of(is_forward ? forward_ : backward_, at, slot) = free_[stage];
        return true;
    }

    /// Returns the seconds of a message between neighbouring virtual stages.
    double message_seconds(std::size_t from, std::size_t to) const {
        const int sender = spec::stage_of(static_cast<int>(from), pipeline_.stages, turns_back_);
        const int receiver = spec::stage_of(static_cast<int>(to), pipeline_.stages, turns_back_);
        if (sender == receiver) {
            return 0;
        }
        const bool is_to_next = turns_back_ ? receiver > sender : to > from;
        const auto& seconds = stages_[static_cast<std::size_t>(sender)];
        return is_to_next ? seconds.to_next : seconds.to_previous;
    }

    void take(std::size_t stage, double begin, double seconds) {
        free_[stage] = begin + seconds;
        busy_[stage] += seconds;
        ++next_[stage];
    }

    const Pipeline& pipeline_;
    const std::vector<StageSlots>& stages_;
    bool turns_back_;
    std::size_t virtual_stages_;
    std::vector<std::vector<Slot>> orders_;  ///< by stage
    // Ends by virtual stage and micro-batch.
    std::vector<double> forward_;
    std::vector<double> backward_;
    std::vector<double> free_;       ///< by stage: end of its last slot
    std::vector<double> busy_;       ///< by stage: seconds of its slots
    std::vector<std::size_t> next_;  ///< by stage: index of its next slot
    PipelineTimes made_;
};

}  // namespace

namespace {

/// Returns the times of a step amid others, without a flush between them.
PipelineTimes times_without_flush(const Pipeline& pipeline, std::vector<StageSlots> stages) {
    PipelineTimes made;
    std::vector<double> busy;
    for (auto& stage : stages) {
        busy.push_back(pipeline.microbatches * (stage.forward.front() + stage.backward.front()) +
                       stage.others);
        stage.backward.front() += stage.others / pipeline.microbatches;
        stage.others = 0;
    }
    auto shorter = pipeline;
    shorter.microbatches = 4 * pipeline.stages;  // the start is over
    auto longer = shorter;
    longer.microbatches += pipeline.microbatches;
    made.step_seconds =
        PipelineRun{longer, stages}.run().step_seconds - PipelineRun{shorter, stages}.run().step_seconds;
    for (const double seconds : busy) {
        made.idle_seconds.push_back(std::max(0.0, made.step_seconds - seconds));
    }
    return made;
}

}  // namespace

PipelineTimes pipeline_times(const Pipeline& pipeline, const std::vector<StageSlots>& stages) {
    ZG_EXPECTS(std::ssize(stages) == pipeline.stages);
    if (pipeline.schedule == spec::PipelineSchedule::pipedream && pipeline.stages > 1) {
        return times_without_flush(pipeline, stages);
    }
    return PipelineRun{pipeline, stages}.run();
}

}  // namespace ziggurat::plan
