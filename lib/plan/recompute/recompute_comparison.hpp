/// Comparison of choices of recomputation for the device budget of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/recompute/exact_recompute.hpp"
#include "plan/recompute/recompute_graph.hpp"
#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// A choice with its name and cost.
struct NamedChoice {
    std::string name;  ///< none, selective, full, greedy, exact
    RecomputeChoice choice;
    RecomputeCost cost;
};

/// Comparison for the stage with most device memory.
struct RecomputeComparison {
    int stage = 0;
    RecomputeGraph graph;
    std::int64_t budget = 0;  ///< bytes for values of layers: what the rest of the device's memory leaves
    double step_seconds = 0;  ///< of a step without recomputation
    std::vector<NamedChoice> choices;
    bool is_proven = true;  ///< false: the solver stopped at its time limit

    /// Returns the choice of that name, or nullptr if no such choice is within the budget.
    const NamedChoice* find(const std::string& name) const;
    /// Returns the share of a step by which the exact choice is faster than the greedy one. \pre both exist
    double gap() const;
};

/// Compares the kinds of decks with a greedy and an exact choice per op and layer.
///
/// Steps are those of a run without recomputation plus the recomputation of the stage; in a pipeline, bubbles
/// grow too.
///
/// Errors: Error{resource} if the solver cannot run
RecomputeComparison compare_recomputation(const spec::RunSpec& spec,
                                          const spec::MachineSpec& machine,
                                          const Cbc& solver = {},
                                          const Watch& watch = {});

/// Returns the ops that a choice recomputes: `attention in 32 layers, norm in 7 of 32`.
std::string describe(const RecomputeGraph& graph, const RecomputeChoice& choice);

}  // namespace ziggurat::plan
