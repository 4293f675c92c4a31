/// The run specification of a single pipeline stage.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the state that applies to stages without settings of their own.
StageState general_state(const RunSpec& run);

/// Returns `run` with the recomputation and homes of `state` for all stages.
RunSpec with_state(RunSpec run, const StageState& state);

/// Returns `run` with the state of `stage` from RunSpec::stages; its program is the same.
RunSpec of_stage(const RunSpec& run, int stage);

/// Returns the state of each stage, also if RunSpec::stages is empty.
std::vector<StageState> states_of_stages(const RunSpec& run);

/// Returns true if `is_so` holds for the state of any stage.
template <class Predicate>
bool is_any_stage(const RunSpec& run, const Predicate& is_so) {
    for (const auto& state : run.stages) {
        if (is_so(state)) {
            return true;
        }
    }
    return run.stages.empty() && is_so(general_state(run));
}

}  // namespace ziggurat::spec
