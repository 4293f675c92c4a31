/// Volumes of units with tiled weights, in closed form.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Returns the elements that all d ranks of this rank's data axis together send in one step for tiled
/// units.
///
/// Elements are counted as in a ring. A single rank sends more or less than its share, because a tile is on
/// few ranks.
///
/// Each tile has its own leases, for forward, for recomputation and for backward. With M micro-batches and L
/// elements that these passes read, without the padding between tensors:
///
///     gathers      M L d/p (p - 1)
///     reduction    at_end           T(d - 1)
///                  each_microbatch  M T(d - 1)
///                  by_span          M T d/g (g - 1) + T(d/g - 1)
///                  and in all       T(d/o - 1)
///
/// The spans are those of volumes_by_formula, and T are the trained elements. Forward reads all parameters of
/// its phases, and recomputation those of the recomputed phases. Backward reads the gains of norms and the
/// weights whose input has a gradient. The product with the vocabulary reads its tiles two times; on a grid,
/// one time unless its input has a gradient. Only the first tensor rank reads the table of positions and the
/// biases of products that are summed over the tensor axis. The other volumes are 0: publication does not
/// depend on tiles.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.1.3.
Volumes tile_volumes_of_axis(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
