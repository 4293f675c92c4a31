/// Forward ops of a stage's layers, and the values that their backward reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/cost/rates.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Forward op of a layer, or several that write the same buffer.
struct LayerOp {
    std::string name;
    double seconds = 0;           ///< of a recomputation for a micro-batch
    bool is_selective = false;    ///< redone by recompute.kind selective
    std::vector<int> reads = {};  ///< indices into LayerGraph::values
    std::vector<int> writes = {};
};

/// Value that a layer makes and that no other unit reads.
struct LayerValue {
    std::string name;
    std::int64_t bytes = 0;  ///< of a micro-batch
    int made_by = -1;        ///< index into LayerGraph::ops
    bool is_for_backward = false;
    std::vector<int> read_by = {};  ///< forward ops; indices into LayerGraph::ops
    /// Op whose gradient has the recomputed value in memory that gradients need anyway, if the op itself is
    /// also recomputed (fuse_glu_pass); -1: none.
    int shared_by = -1;
};

/// Layers whose ops and values are equal. What such a layer reads from other units is always kept.
struct LayerGraph {
    std::int64_t layers = 1;
    std::vector<LayerOp> ops = {};  ///< in forward order
    std::vector<LayerValue> values = {};
};

/// Layers of one stage.
struct RecomputeGraph {
    std::vector<LayerGraph> kinds = {};
    std::int64_t in_flight = 1;      ///< micro-batches whose values are kept at the same time
    std::int64_t micro_batches = 1;  ///< of a step
};

/// For each kind and op, the number of layers that recompute it.
///
/// Layers are numbered from the first of their kind: an op is recomputed by the first ones. Layers that
/// recompute most thus also recompute what others do, and no value is kept for a recomputation only.
using RecomputeChoice = std::vector<std::vector<std::int64_t>>;

struct RecomputeCost {
    double seconds = 0;      ///< recomputation in a step
    std::int64_t bytes = 0;  ///< device memory of kept values, and of the recomputed values of one layer
};

/// Returns the graph of a stage, for a run that recomputes nothing and keeps activations on the device.
RecomputeGraph recompute_graph(const spec::RunSpec& spec, int stage, const Rates& rates);

/// Returns `spec` without recomputation, with activations on the device, in all stages.
spec::RunSpec without_recomputation(spec::RunSpec spec);

/// Returns the cost of a choice.
///
/// The maximum of memory is when backward begins: all layers of the micro-batches in flight keep their
/// values, and the last layer has recomputed its own.
RecomputeCost cost_of(const RecomputeGraph& graph, const RecomputeChoice& choice);

/// Returns the choice that recomputes nothing.
RecomputeChoice keep_all(const RecomputeGraph& graph);

/// Returns the choice that recompute.kind makes.
///
/// All layers recompute what their backward needs: of all ops, or of those of kind selective.
RecomputeChoice choice_of_kind(const RecomputeGraph& graph, spec::RecomputeKind kind);

}  // namespace ziggurat::plan
