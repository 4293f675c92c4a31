/// Search for the layouts of a run with the minimum of memory.
#pragma once

#include "plan/layouts/layout_search.hpp"

namespace ziggurat::plan {

/// True if `one` has fewer peak bytes than `other`.
///
/// Bytes of the device count first, then those of the host, then those of NVMe. With equal bytes, the faster
/// layout is smaller.
bool needs_less_memory(const FoundLayout& one, const FoundLayout& other);

/// Returns the `limits.wanted` smallest layouts in `space` that fit, the smallest first.
///
/// Layouts are planned in the order of their lower bounds (MemoryBounds), until the bound of the next one is
/// above the device memory of the last wanted one. LayoutSearch::too_slow counts the others.
LayoutSearch search_smallest_layouts(const spec::RunSpec& spec,
                                     const spec::MachineSpec& machine,
                                     const spec::LayoutSpace& space = {},
                                     const spec::LayoutRules& rules = {},
                                     const SearchLimits& limits = {},
                                     const Watch& watch = {});

}  // namespace ziggurat::plan
