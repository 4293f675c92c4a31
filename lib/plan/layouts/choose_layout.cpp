#include "plan/layouts/choose_layout.hpp"

#include <fmt/format.h>

#include <string>

#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "plan/layouts/layout_search.hpp"
#include "plan/time_to_train.hpp"

namespace ziggurat::plan {
namespace {

std::string ranks_of(const spec::RunSpec& spec) {
    return fmt::format("{} rank{}", spec.parallel.ranks, spec.parallel.ranks == 1 ? "" : "s");
}

}  // namespace

spec::ChosenLayouts choose_layout(const spec::RunSpec& spec,
                                  const spec::MachineSpec& machine,
                                  const spec::LayoutSpace& space,
                                  const spec::LayoutRules& rules,
                                  const SearchLimits& limits,
                                  const Watch& watch) {
    const auto missing = missing_rates(spec, machine);
    if (!missing.empty()) {
        return {.runs = {},
                .reason = fmt::format("layouts are compared by their times, and {} does not give {}",
                                      printable(machine.name), missing),
                .advice = "Write a number, measure with `ziggurat bench all`, or plan with --machine."};
    }
    const auto search = search_layouts(spec, machine, space, rules, limits, watch);
    spec::ChosenLayouts chosen;
    for (const auto& found : search.best) {
        chosen.runs.push_back(with_layout(spec, found.choice, space));
    }
    if (!search.best.empty()) {
        chosen.reason = fmt::format("the fastest of {} layouts on {}: {} per step",
                                    search.all - search.left_out - search.refused, ranks_of(spec),
                                    format_duration(search.best.front().time.step_seconds));
    } else if (search.smallest) {
        chosen.runs.push_back(with_layout(spec, search.smallest->choice, space));
        chosen.reason = fmt::format("none of {} layouts on {} fits; this one lacks the minimum",
                                    search.all - search.refused, ranks_of(spec));
    } else if (search.refused_choice) {
        chosen.runs.push_back(with_layout(spec, *search.refused_choice, space));
        chosen.reason = fmt::format("rules refuse all layouts on {}", ranks_of(spec));
    } else {
        chosen.reason = fmt::format("{}, global_batch {} and the settings that are not auto allow no layout",
                                    ranks_of(spec), spec.train.global_batch);
        chosen.advice = "Use another number of ranks, or make more of them auto.";
    }
    return chosen;
}

}  // namespace ziggurat::plan
