/// Bytes over the tensor axis that recompute.split causes, in closed form.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Returns the bytes that the rank sends in a step to gather the partitioned saved activations.
///
/// Each micro-batch and layer with b replicated saved bytes on t tensor ranks, including its input, needs b(1
/// - 1/t), as in a ring. With recompute.kind full, b is the input of each range of recompute.every layers.
///
/// Exceptions, which are not partitioned:
/// - the last layer of a chunk whose backward directly follows its forward (with `full`: if that layer is a
///   range of its own). If that layer is tiled, its phases are separate passes; then only its input stays
///   whole, and only if its last phase and the first recomputed phase read the input.
/// - the head, except for the values that its norm saves if the product with the vocabulary is tiled.
///
/// If gradients of weights are deferred, inputs of products that only they read are partitioned if another
/// unit runs before them.
///
/// With frozen tensors, b counts only what backward still reads. A chunk without backward does not separate
/// another chunk's forward and backward. If t does not divide the tokens of a micro-batch, statistics of
/// tokens have unequal parts or stay whole: the result is then the average over the ranks.
std::int64_t split_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
