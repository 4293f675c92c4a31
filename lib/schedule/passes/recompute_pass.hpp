/// Recomputation of values that backward needs again.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Clones forward ops in front of the backward that reads what they make, and lets backward read the clones'
/// buffers; those of the originals are then free after forward.
///
/// `selective` clones the phases that are marked redone_by_selective, unit by unit. `full` clones all that
/// backward needs, collectives included, from the input of a run of `every` layers of one stage on, so that
/// of each run only the input is kept. The head needs nothing: its forward stands right before its backward.
///
/// The clones are the same kernels on the same values, so the step has the same bits.
///
/// Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, section 4 (full); Korthikanti
/// et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 5 (selective).
void recompute_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
