#include "plan/simulator/pipeline_time.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/contract.hpp"

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
          virtual_stages_{static_cast<std::size_t>(pipeline.stages) * pipeline.chunks},
          forward_(virtual_stages_ * pipeline.microbatches, not_yet),
          backward_(forward_),
          free_(stages.size()),
          busy_(stages.size()),
          next_(stages.size()) {
        for (int stage = 0; stage < pipeline.stages; ++stage) {
            orders_.push_back(schedule::pipeline_order(pipeline, stage));
        }
    }

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
        return static_cast<std::size_t>(slot.chunk) * stages_.size() + stage;
    }

    double& of(std::vector<double>& ends, std::size_t virtual_stage, const Slot& slot) const {
        return ends[virtual_stage * pipeline_.microbatches + slot.microbatch];
    }

    /// Runs the next slot of a stage; returns false if its input has not been computed yet.
    bool advance(std::size_t stage) {
        const auto& slot = orders_[stage][next_[stage]];
        if (slot.pass == Slot::Pass::backward_weight) {
            take(stage, free_[stage],
                 stages_[stage].backward_weight.at(static_cast<std::size_t>(slot.chunk)));
            return true;
        }
        const auto at = virtual_stage(stage, slot);
        const bool is_forward = slot.pass == Slot::Pass::forward;
        const auto count = stages_.size();
        double ready = 0;
        if (is_forward && at > 0) {
            const double before = of(forward_, at - 1, slot);
            ready = before == not_yet ? not_yet : before + stages_[(at - 1) % count].to_next;
        } else if (!is_forward && at + 1 < virtual_stages_) {
            const double after = of(backward_, at + 1, slot);
            ready = after == not_yet ? not_yet : after + stages_[(at + 1) % count].to_previous;
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

    void take(std::size_t stage, double begin, double seconds) {
        free_[stage] = begin + seconds;
        busy_[stage] += seconds;
        ++next_[stage];
    }

    const Pipeline& pipeline_;
    const std::vector<StageSlots>& stages_;
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

PipelineTimes pipeline_times(const Pipeline& pipeline, const std::vector<StageSlots>& stages) {
    ZG_EXPECTS(std::ssize(stages) == pipeline.stages);
    return PipelineRun{pipeline, stages}.run();
}

}  // namespace ziggurat::plan
