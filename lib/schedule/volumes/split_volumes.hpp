/// Bytes over the tensor axis of what recompute.split cuts, by formula.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Bytes that the rank sends in a step to gather for backward what it keeps a part of, as a ring would: for
/// each micro-batch and each layer whose kept activations have b bytes alike on all of t tensor ranks, its
/// input among them, b(1 - 1/t). With recompute.kind full that is the input of each run of recompute.every
/// layers. Nothing is cut of the last layer of a chunk whose backward follows its forward at once (with
/// `full`: where that layer is a run of its own), nor of the head, but for what its norm keeps if the product
/// with the vocabulary is in tiles. Of such a layer in tiles, whose phases are
/// passes of their own, that is its input alone, where its last phase reads it and the first one that is
/// computed again does. And with zero_bubble inputs of products whose gradients of weights alone read them
/// are cut, if another unit's backward comes before those.
///
/// Where tensors are frozen, of what backward still reads, and a chunk without backward comes between no
/// other's forward and backward. Where t does not divide the tokens of a micro-batch, statistics of tokens
/// are cut into parts that are not equal, or not at all: then ranks send this on average.
std::int64_t split_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
