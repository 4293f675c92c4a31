/// Layouts of a run: the settings that a search may change without changing what is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/layout_space.hpp"
#include "spec/run_spec.hpp"
#include "spec/state_spans.hpp"

namespace ziggurat::plan {

/// Degrees, schedule, spans of state, micro-batch and recomputation of a run.
struct LayoutChoice {
    int tensor = 1;  ///< with parallel.sequence if the sequence can be divided
    int context = 1;
    int stages = 1;
    int chunks = 1;  ///< per stage; above 1: interleaved
    int data = 1;    ///< ranks of the data axis, with those that share sequences
    spec::StateSpans spans = {};
    std::int64_t micro_batch = 1;
    spec::RecomputeKind recompute = spec::RecomputeKind::none;

    bool operator==(const LayoutChoice&) const = default;
};

/// Returns all layouts of the run's ranks in `space`, in a fixed order.
///
/// The global batch, the sequence and the kind of context ranks stay. Tensor ranks stay within a node.
/// Context degrees are that of the run, and powers of two that leave a rank at least 2048 positions. Stages
/// of interleaved pipelines have equal numbers of layers in each chunk. Micro-batches are powers of two. A
/// number in sharding.sum_group divides the data ranks.
std::vector<LayoutChoice> all_layouts(const spec::RunSpec& spec, const spec::LayoutSpace& space = {});

/// Returns the run with another layout.
///
/// Other stages or chunks remove the settings of single stages and the schedule. Gradients are summed in the
/// order that the spans need.
spec::RunSpec with_layout(const spec::RunSpec& spec,
                          const LayoutChoice& choice,
                          const spec::LayoutSpace& space = {});

/// Returns the layout of a run.
LayoutChoice layout_of(const spec::RunSpec& spec);

/// Returns a short description.
///
/// Several context ranks are between tensor ranks and stages, as `context 2`.
/// Example: `tensor 4, stages 2 x 5 chunks, data 8, zero 1, micro-batch 1, recompute full`; spans that are
/// no ZeRO stage are `spans 1/1/4`.
std::string described(const LayoutChoice& choice);

/// Returns the overrides of the deck of `spec` that choose the layout, each after a space.
///
/// \param gathers_each_pass  also sets sharding.leases: pass, with which sharded parameters need less memory
std::string overrides_of(const LayoutChoice& choice,
                         const spec::RunSpec& spec,
                         const spec::LayoutSpace& space,
                         bool gathers_each_pass = false);

/// Returns the same overrides as separate arguments.
std::vector<std::string> override_list(const LayoutChoice& choice,
                                       const spec::RunSpec& spec,
                                       const spec::LayoutSpace& space,
                                       bool gathers_each_pass = false);

}  // namespace ziggurat::plan
