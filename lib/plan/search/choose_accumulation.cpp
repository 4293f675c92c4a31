#include "plan/search/choose_accumulation.hpp"

#include <fmt/format.h>

#include "base/text/units.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/search/significantly_shorter.hpp"

namespace ziggurat::plan {

spec::AccumulationChoice choose_accumulation(const spec::RunSpec& spec,
                                             const spec::MachineSpec& machine,
                                             const Watch& watch) {
    using enum spec::AccumulationOrder;
    auto by_order = spec;
    by_order.train.accumulate = by_micro_batch;
    const double usual = planned_time(by_order, machine).step_seconds;
    by_order.train.accumulate = by_layer;
    const double seconds = planned_time(by_order, machine).step_seconds;
    const auto times = fmt::format("a step takes {} by layer and {} by micro-batch", format_duration(seconds),
                                   format_duration(usual));
    if (seconds >= significantly_shorter * usual) {
        return {by_micro_batch, times};
    }
    const auto holds = [&](PlannedRanks which) {
        return plan_run(by_order, machine, which, watch).footprint.total_lack() == 0;
    };
    const bool fits = holds(PlannedRanks::first) && holds(PlannedRanks::several_in_search);
    return fits ? spec::AccumulationChoice{by_layer, times}
                : spec::AccumulationChoice{by_micro_batch, times + ", but exceeds the budgets by layer"};
}

}  // namespace ziggurat::plan
