/// Recomputation of values that backward needs.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Clones forward ops before the backward that reads their results, and makes backward read the clones.
///
/// The buffers of the original ops are then free after forward. `selective` clones the phases that are marked
/// redone_by_selective, unit by unit. `full` clones everything that backward needs, including collectives. It
/// starts from the input of a range of `every` layers of one stage, so only the input of each range is saved.
/// The head needs no clones: its forward is directly before its backward.
///
/// A rule of recompute.fates overrides this for single activations. For a value with the fate `recompute`,
/// its op is cloned, with the ops that make inputs which are neither saved nor cloned themselves, up to
/// the input of the unit. A value with another fate stays saved: if its op is cloned for another result,
/// no op reads the copy of the value.
///
/// The clones run the same kernels on the same values, so the step has the same bits.
///
/// Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, section 4 (full); Korthikanti
/// et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 5 (selective).
void recompute_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
