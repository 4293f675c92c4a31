#include "plan/recompute/recompute_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/recompute/greedy_recompute.hpp"

namespace ziggurat::plan {

const NamedChoice* RecomputeComparison::find(const std::string& name) const {
    const auto known = std::ranges::find(choices, name, &NamedChoice::name);
    return known == choices.end() || known->cost.bytes > budget ? nullptr : &*known;
}

double RecomputeComparison::gap() const {
    const double greedy = step_seconds + find("greedy")->cost.seconds;
    const double exact = step_seconds + find("exact")->cost.seconds;
    return 1 - exact / greedy;
}

RecomputeComparison compare_recomputation(const spec::RunSpec& spec,
                                          const spec::MachineSpec& machine,
                                          const Cbc& solver,
                                          const Watch& watch) {
    const auto kept = without_recomputation(spec);
    const auto plan = plan_run(kept, machine, PlannedRanks::first, watch);
    RecomputeComparison made;
    made.stage = plan.fullest().stage;
    made.graph = recompute_graph(spec, made.stage, rates_of(kept, machine));
    made.step_seconds = planned_time(kept, machine).step_seconds;
    const auto others = plan.footprint.needed[tier_index(spec::Tier::device)] -
                        cost_of(made.graph, keep_all(made.graph)).bytes;
    const auto limit = plan.footprint.limit(spec::Tier::device);
    made.budget = limit == spec::unlimited ? limit : limit - others;
    const auto add = [&](const char* name, RecomputeChoice choice) {
        const auto cost = cost_of(made.graph, choice);
        made.choices.push_back({name, std::move(choice), cost});
    };
    add("none", keep_all(made.graph));
    add("selective", choice_of_kind(made.graph, spec::RecomputeKind::selective));
    add("full", choice_of_kind(made.graph, spec::RecomputeKind::full));
    if (auto greedy = greedy_recompute(made.graph, made.budget)) {
        add("greedy", std::move(*greedy));
    }
    auto exact = exact_recompute(made.graph, made.budget, solver);
    made.is_proven = exact.is_proven;
    if (exact.choice) {
        add("exact", std::move(*exact.choice));
    }
    return made;
}

std::string describe(const RecomputeGraph& graph, const RecomputeChoice& choice) {
    std::string text;
    for (std::size_t k = 0; k < graph.kinds.size(); ++k) {
        const auto& kind = graph.kinds[k];
        for (std::size_t v = 0; v < kind.ops.size(); ++v) {
            const auto layers = choice[k][v];
            if (layers == 0) {
                continue;
            }
            text += text.empty() ? "" : ", ";
            text += layers == kind.layers
                        ? fmt::format("{} in {} layers", kind.ops[v].name, layers)
                        : fmt::format("{} in {} of {} layers", kind.ops[v].name, layers, kind.layers);
        }
    }
    return text.empty() ? "nothing" : text;
}

}  // namespace ziggurat::plan
