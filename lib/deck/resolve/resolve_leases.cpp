#include <algorithm>

#include "deck/resolve/resolve.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::deck {
namespace {

/// Returns true if any stage keeps parameters outside of the device.
bool fetches_parameters(const spec::RunSpec& run) {
    return run.tiers.parameters.device < 1 ||
           std::ranges::any_of(run.stages, [](const auto& stage) { return stage.parameters.device < 1; });
}

/// Returns the reason to gather parameters per pass for any budgets; nullptr if budgets decide.
const char* for_each_pass_reason(const Resolution& resolution) {
    const auto& run = resolution.run;
    return run.sharding.parameters == 1       ? "parameters are not sharded"
           : run.parallel.stages == 1         ? "one stage: parameters are sharded to save memory"
           : spec::has_no_flush(run.parallel) ? "backward reads older versions of the weights"
           : run.sharding.secondary > 0       ? "later gathers use a second copy"
           : !run.tiers.tiles.empty()         ? "weights are in tiles"
           : fetches_parameters(run)          ? "parameters are at home outside of the device"
                                              : nullptr;
}

}  // namespace

void resolve_auto_leases(Resolution& resolution) {
    if (!resolution.is_auto("sharding.leases")) {
        return;
    }
    const auto& choose = resolution.options.choose_leases;
    const char* reason = for_each_pass_reason(resolution);
    const bool is_asked = reason == nullptr && choose && !resolution.run.tiers.open.any();
    const bool is_held = is_asked && choose(resolution.run, resolution.machine);
    resolution.run.sharding.leases = is_held ? spec::LeaseSpan::step : spec::LeaseSpan::pass;
    if (is_asked) {
        reason = is_held ? "the budgets allow it" : "the budgets do not allow step";
    }
    resolution.values.set_resolved("sharding.leases", {}, is_held ? "step" : "pass",
                                   reason == nullptr ? "" : reason);
}

}  // namespace ziggurat::deck
