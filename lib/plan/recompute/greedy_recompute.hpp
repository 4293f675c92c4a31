/// Choice of recomputation by time per byte.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/recompute/recompute_graph.hpp"

namespace ziggurat::plan {

/// Returns a choice whose bytes are within `budget`; nothing if it finds none.
///
/// In each round, the op whose recomputation takes the minimum of time per byte that it frees is recomputed
/// by all layers, with the ops that make its inputs or with its inputs kept. In the last round, it is
/// recomputed by as few layers as suffice. Then each op that takes time is recomputed by fewer layers if the
/// budget still suffices.
std::optional<RecomputeChoice> greedy_recompute(const RecomputeGraph& graph, std::int64_t budget);

}  // namespace ziggurat::plan
