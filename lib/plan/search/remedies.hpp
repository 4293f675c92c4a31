/// Remedies for a run that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/plan_run.hpp"

namespace ziggurat::plan {

/// Change of the deck or of the number of ranks, and the resulting memory.
struct Remedy {
    std::string overrides;  ///< as on the command line: "recompute.kind=full"
    Footprint footprint;
    bool fits = false;
};

/// Returns the cheapest changes with which the run fits; otherwise the one with the smallest shortfall.
///
/// Tries changes that keep the training equivalent, by building their programs, in the order of their cost in
/// time: synchronous saves, sharded state, more recomputation, homes further out, smaller and more
/// micro-batches, and more ranks.
///
/// \param plan  of `spec`, which does not fit
std::vector<Remedy> find_remedies(const spec::RunSpec& spec,
                                  const spec::MachineSpec& machine,
                                  const RunPlan& plan,
                                  const Watch& watch = {});

}  // namespace ziggurat::plan
