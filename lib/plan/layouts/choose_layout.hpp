/// Choice of the settings of a layout that the deck leaves to the planner (`auto`).
#pragma once

#include "plan/layouts/layout_search.hpp"
#include "plan/watch.hpp"
#include "spec/layout_space.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the layouts of `spec` in `space` that fit, the fastest first.
///
/// If none fits, returns the one with the smallest shortfall. If `rules` refuse all, returns the one with
/// the fewest problems. Returns none if the machine's rates are unknown, or if the ranks and the batch allow
/// no layout.
spec::ChosenLayouts choose_layout(const spec::RunSpec& spec,
                                  const spec::MachineSpec& machine,
                                  const spec::LayoutSpace& space,
                                  const spec::LayoutRules& rules,
                                  const SearchLimits& limits = {},
                                  const Watch& watch = {});

}  // namespace ziggurat::plan
