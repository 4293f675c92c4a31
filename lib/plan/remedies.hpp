/// Remedies for a run that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/plan_run.hpp"

namespace ziggurat::plan {

/// A change of the deck, or of the number of ranks, and what the run then needs.
struct Remedy {
    std::string overrides;  ///< as on the command line: "recompute.kind=full"
    Footprint footprint;
    bool fits = false;
};

/// Changes that leave the training the same are tried by building the programs that they lead to, by what
/// they cost in time: saves that are waited for, state cut over ranks, more recomputation, homes further out,
/// smaller micro-batches with as many more of them, and more ranks. The cheapest ones that fit, or, where
/// none does, the one after which least is lacking.
///
/// \param plan  of `spec`, which does not fit
std::vector<Remedy> find_remedies(const spec::RunSpec& spec,
                                  const spec::MachineSpec& machine,
                                  const RunPlan& plan,
                                  const Watch& watch = {});

}  // namespace ziggurat::plan
