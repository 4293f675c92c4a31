/// Planned time of a step as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/planned_time.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Speed of a run.
struct PlannedSpeed {
    double tokens_per_s = 0;
    double flops_per_rank = 0;  ///< model FLOP/s of a rank, without recomputation
    /// Share of spec::peak_of(machine), by the convention layout::own_convention(); nullopt if that is
    /// unknown.
    std::optional<double> mfu;
};

/// Returns the speed of a run whose steps take `step_seconds`.
PlannedSpeed speed_of(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds);

/// A kind of work of the slowest stage.
struct BoundPart {
    std::string work;
    double path_seconds = 0;    ///< of the step's critical path
    double work_seconds = 0;    ///< of all its ops; they can run next to each other
    double hidden_seconds = 0;  ///< of work_seconds: not on the critical path

    bool operator==(const BoundPart&) const = default;
};

/// Returns the kinds of work of the slowest stage, largest part of the critical path first.
///
/// In pipelines, one of them is `waits for other stages`.
std::vector<BoundPart> bound_parts(const PlannedTime& time);

/// Returns a table with one row per stage and lane, and what bounds the step.
std::string time_table(const PlannedTime& time);

/// Returns what the time of the slowest stage consists of: `products and attention 71%, optimizer 12%`.
std::string bound_text(const PlannedTime& time);

/// Returns the critical path in words, with the work that it hides:
/// `reads of optimizer states from NVMe 62% (1.4 s of 5.1 s hidden), optimizer 20%`.
std::string bound_words(const PlannedTime& time);

/// Returns the work that the critical path hides: `gathers of parameters 0.8 s of 0.9 s`.
///
/// Empty if no such work takes a noticeable time.
std::string hidden_words(const PlannedTime& time);

/// Returns a lower bound of the step: the seconds of the busiest lane of any stage.
double step_bound(const PlannedTime& time);

/// Returns the time of a step with all state at home on the device, divided by `step_seconds`.
///
/// 1 if all state is there. Memory is not limited.
double practicality(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds);

/// Returns the planned time as one JSON object:
///
///     {"step_s": s, "bound_s": s, "tokens_per_s": n, "tokens_per_s_per_rank": n, "model_flops_per_s_per_rank": n,
///      "mfu": share or null, "mfu_convention": "C5", "mfu_by_convention": {"C1": share ...} or null,
///      "practicality": share, "redone_step_s": s or null, "bubble": share,
///      "works": [{"work": name, "path_s": s, "work_s": s, "hidden_s": s}],
///      "stages": [{"stage": n, "others_s": s, "idle_s": s, "forward_s": [s ...], "backward_s": [s ...],
///                  "backward_weight_s": [s ...],
///                  "lanes": {name: s}, "path": {work: s}}]}
std::string time_as_json(const PlannedTime& time,
                         const spec::RunSpec& spec,
                         const spec::MachineSpec& machine,
                         bool is_lower_bound = false);

}  // namespace ziggurat::plan
