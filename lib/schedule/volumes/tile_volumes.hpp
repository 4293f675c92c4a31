/// Volumes of units whose weights are cut into tiles, by formula.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Elements that all d ranks of this rank's data axis together send over it in one step for the units in
/// tiles, as rings would. A single rank sends more or less than its share: a tile lies on some ranks.
///
/// Each tile is leased alone, by forward, by what backward computes again and by backward, so of M
/// micro-batches and of L elements that these passes ask for, without the padding between tensors,
///
///     gathers      M L d/p (p - 1)
///     reduction    at_end           T(d - 1)
///                  each_microbatch  M T(d - 1)
///                  by_span          M T d/g (g - 1) + T(d/g - 1)
///                  and in all       T(d/o - 1)
///
/// with the spans of volumes_by_formula and T trained elements. What a pass asks for: forward all parameters
/// of its phases; what is computed again, those of the phases that are; backward the gains of norms and the
/// weights whose input has a gradient. The product with the vocabulary takes its tiles twice. Biases of
/// products that are summed over the tensor axis, and the table of positions, are asked for by its first rank
/// alone. The other volumes are 0: publication knows no tiles.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.1.3.
Volumes tile_volumes_of_axis(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
