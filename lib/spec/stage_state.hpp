/// A run as one stage of its pipeline has it.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// What all stages have that the run says nothing of their own of.
StageState general_state(const RunSpec& run);

/// `run` with that recomputation and these homes, the same for all stages.
RunSpec with_state(RunSpec run, const StageState& state);

/// `run` with what RunSpec::stages says of `stage`; its program is the same.
RunSpec of_stage(const RunSpec& run, int stage);

/// By stage, also where RunSpec::stages leaves it out.
std::vector<StageState> states_of_stages(const RunSpec& run);

/// Whether `is_so` holds for the state of any stage.
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
