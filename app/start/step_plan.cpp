#include "app/start/step_plan.hpp"

#include "plan/planned_time.hpp"
#include "plan/report/time_report.hpp"
#include "plan/representative_layers.hpp"
#include "plan/stage_kinds.hpp"
#include "plan/time_to_train.hpp"
#include "spec/depths.hpp"

namespace ziggurat::app {
namespace {

/// Maximum of plan::weight_of_layer times kinds of stages; 20 takes one second.
constexpr std::int64_t max_weight = 16;

}  // namespace

std::optional<train::PlannedStep> planned_step(const comm::Context& world,
                                               const spec::RunSpec& run,
                                               spec::MachineSpec machine,
                                               const train::Peak& peak) {
    if (world.rank() != 0) {
        return std::nullopt;
    }
    machine.device_flops = machine.device_flops > 0 ? machine.device_flops : peak.flops_of_rank;
    if (!plan::missing_rates(run, machine).empty()) {
        return std::nullopt;
    }
    const auto weight =
        plan::weight_of_layer(run) * static_cast<std::int64_t>(plan::stages_of_each_kind(run).size());
    if (weight > max_weight) {
        return train::PlannedStep{.skip_reason =
                                      "not planned at the start: layers have too many tiles. Run "
                                      "`ziggurat plan --time`"};
    }
    const auto time = plan::planned_time(run, machine);
    return train::PlannedStep{
        .seconds = time.step_seconds,
        .bound_seconds = plan::step_bound(time),
        .on_device_seconds = spec::is_any_state_away(run)
                                 ? plan::practicality(run, machine, time.step_seconds) * time.step_seconds
                                 : 0,
        .skip_reason = {}};
}

}  // namespace ziggurat::app
