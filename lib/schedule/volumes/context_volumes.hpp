/// Bytes that context ranks send, in closed form.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Bytes that a rank sends over the context axis in a training step.
struct ContextBytes {
    std::int64_t of_ring = 0;        ///< in the ring of its node, or in the only ring; Ulysses: of heads
    std::int64_t between_nodes = 0;  ///< in rings of two levels, to the next node
    std::int64_t of_losses = 0;      ///< of a preference objective

    std::int64_t total() const { return of_ring + between_nodes + of_losses; }
};

/// Returns the bytes that a rank sends over the context axis in a training step.
///
/// Ulysses, for each layer, micro-batch and pass: N (w + h d) (1 - 1/c) elements, where N are the rank's
/// tokens, w the width of queries, keys and values, and h d that of attention's output; w counts a key head
/// that ranks share for each of them. Passes are forward, backward, and forward again with full
/// recomputation, without h d if only attention needs its output again.
///
/// Ring: N k (c - 1) elements in each pass, where k is the width of keys and values, and N k c elements of
/// float in backward. Blocks that no later rank needs are not sent: the last one of the sequence, and those
/// outside of all windows (layout::RingPlan).
///
/// Rings of m ranks on n nodes, at most: N k n (m - 1) elements within the node and N k (n - 1) between nodes
/// in each pass, and in backward n m and n - 1 times N k elements of float.
///
/// With a preference objective, a rank of the head's stage also sends 4 N (c - 1) bytes for each micro-batch,
/// in which N losses go to each other rank.
///
/// Source: Jacobs et al., "DeepSpeed Ulysses", 2023, section 3.2: 4 N h / P for each of query, key, value and
///         output; Liu et al., "Ring Attention", 2023, section 3
ContextBytes context_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
