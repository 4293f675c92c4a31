/// Planned time of a step as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "plan/planned_time.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Speed of a run.
struct PlannedSpeed {
    double tokens_per_s = 0;
    double flops_per_rank = 0;  ///< model FLOP/s of a rank, without recomputation
    std::optional<double> mfu;  ///< share of spec::peak_of(machine); nullopt if that is unknown
};

/// Returns the speed of a run whose steps take `step_seconds`.
PlannedSpeed speed_of(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds);

/// Returns a table with one row per stage and lane, and what bounds the step.
std::string time_table(const PlannedTime& time);

/// Returns what the time of the slowest stage consists of: `bound by products and attention (71 %)`.
std::string bound_text(const PlannedTime& time);

/// Returns the planned time as one JSON object:
///
///     {"step_s": s, "tokens_per_s": n, "tokens_per_s_per_rank": n, "model_flops_per_s_per_rank": n,
///      "mfu": share or null, "bubble": share,
///      "stages": [{"stage": n, "others_s": s, "idle_s": s, "forward_s": [s ...], "backward_s": [s ...],
///                  "lanes": {name: s}, "path": {work: s}}]}
std::string time_as_json(const PlannedTime& time,
                         const spec::RunSpec& spec,
                         const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
