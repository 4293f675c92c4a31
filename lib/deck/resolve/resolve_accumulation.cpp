#include "deck/resolve/resolve.hpp"
#include "spec/depths.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the reason to run by micro-batch for any times of the step; nullptr if the plan decides.
const char* by_micro_batch_reason(const spec::RunSpec& run) {
    const bool moves_parameters = run.sharding.parameters > 1 || spec::is_any_state_away(run);
    const int stages = run.parallel.stages * run.parallel.chunks_per_stage;
    return stages > 1                    ? "a pipeline passes micro-batches from stage to stage"
           : run.train.micro_batches < 2 ? "a step has one micro-batch"
           : spec::has_auto_home(run)    ? "homes are not chosen"
           : !moves_parameters           ? "passes read and gather nothing"
                                         : nullptr;
}

}  // namespace

void resolve_auto_accumulation(Resolution& resolution) {
    if (!resolution.is_auto("train.accumulate")) {
        return;
    }
    const auto& choose = resolution.options.choose_accumulation;
    const char* reason = by_micro_batch_reason(resolution.run);
    spec::AccumulationChoice chosen{.reason = reason == nullptr ? "" : reason};
    if (reason == nullptr && choose) {
        chosen = choose(resolution.run, resolution.machine);
    }
    resolution.run.train.accumulate = chosen.order;
    const bool is_by_layer = chosen.order == spec::AccumulationOrder::by_layer;
    resolution.values.set_resolved_keyword("train.accumulate", is_by_layer ? "by_layer" : "by_micro_batch",
                                           chosen.reason);
}

}  // namespace ziggurat::deck
