/// Remedies for a run that does not fit.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/plan_run.hpp"
#include "plan/search/changes.hpp"

namespace ziggurat::plan {

/// Change of the deck or of the number of ranks, and the resulting memory.
struct Remedy {
    std::string overrides;  ///< as on the command line: "recompute.kind=full"
    Footprint footprint;
    bool fits = false;
};

/// Run that a changed deck means, on its machine.
struct ChangedRun {
    spec::RunSpec run;
    spec::MachineSpec machine;
};

/// Loader of changes, and limit of the search.
struct RemedySearch {
    /// Loads the deck with a change; nullopt if it is refused. If empty, DeckEdit::spec is the run.
    ///
    /// Values that the deck leaves open may be chosen again for the change.
    std::function<std::optional<ChangedRun>(const DeckEdit&, const Watch&)> load = {};
    /// Returns true if the search must end. If empty, it ends after max_ops_of_remedies ops.
    std::function<bool()> is_over = {};
};

/// Result of a search for remedies.
struct FoundRemedies {
    std::vector<Remedy> remedies =
        {};                   ///< up to three that fit, cheapest first; else the best one, if one helps
    std::size_t tried = 0;    ///< changes
    std::size_t all = 0;      ///< changes that the search would try
    bool is_finished = true;  ///< false: other changes may fit or be cheaper
};

/// Returns the cheapest changes with which the run fits; otherwise the one with the smallest shortfall.
///
/// Tries changes that keep the training equivalent, by building their programs, in the order of their cost in
/// time: synchronous saves, sharded state, more recomputation, homes further out or chosen by the planner,
/// smaller and more micro-batches, more ranks, and combinations. When the search is over, it still tries the
/// advised changes (DeckEdit::is_advised) until one fits.
///
/// A change that only adds to one that fits is not tried. A change that fits is planned as a command with
/// these overrides would plan it.
///
/// \param plan  of `spec`, which does not fit
FoundRemedies find_remedies(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const RunPlan& plan,
                            const Watch& watch = {},
                            const RemedySearch& search = {});

}  // namespace ziggurat::plan
