/// Search for the fastest layout of a run that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/layouts/layout_choice.hpp"
#include "plan/planned_time.hpp"
#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct FoundLayout {
    LayoutChoice choice;
    PlannedTime time;
    Footprint footprint;  ///< of the first or the last stage, with equal shares of a node
};

/// Property by which the layouts of a search are sorted.
enum class LayoutObjective { time, memory };

/// Result of a search, with the layouts that were not planned and why.
struct LayoutSearch {
    LayoutObjective objective = LayoutObjective::time;
    std::vector<FoundLayout> best;  ///< the fastest or smallest first; all fit
    std::optional<FoundLayout>
        smallest;  ///< if none fits: of those planned, the one with the smallest shortfall
    std::int64_t all = 0;
    std::int64_t refused = 0;                    ///< by the rules of the deck
    std::optional<LayoutChoice> refused_choice;  ///< if all are refused: the one with the fewest problems
    std::int64_t too_large = 0;                  ///< their bound does not fit
    std::int64_t too_slow = 0;        ///< their bound is above the time, or the memory, of the last of `best`
    std::int64_t timed = 0;           ///< their programs were built
    std::int64_t do_not_fit = 0;      ///< of the timed ones, by their planned memory
    std::int64_t left_out = 0;        ///< not planned, because the search has limits
    std::int64_t spans_left_out = 0;  ///< of these, those with spans other than ZeRO stages
};

/// Limits of the work of a search, as numbers of layouts: the result is the same on all machines.
struct SearchLimits {
    std::size_t wanted = 10;
    std::int64_t timed = 600;
    /// Timed layouts with spans other than ZeRO stages, in a space that has both.
    std::int64_t spans = 20;
    std::int64_t footprints = 60;  ///< layouts whose memory is planned
};

/// Returns the `limits.wanted` fastest layouts in `space` that fit.
///
/// Layouts are planned in the order of their lower bounds (LayoutBounds), until the bound of the next one is
/// above the time of the last wanted one: no other layout is faster then. Layouts that `rules` refuse are
/// left out (AcceptedLayouts). Two bounds of the time exist; the
/// closer one is computed for layouts that are next by the other.
LayoutSearch search_layouts(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const spec::LayoutSpace& space = {},
                            const spec::LayoutRules& rules = {},
                            const SearchLimits& limits = {},
                            const Watch& watch = {});

/// Returns one line with the numbers of layouts that were planned, and that were not.
std::string search_text(const LayoutSearch& search);

}  // namespace ziggurat::plan
