/// Volumes that ranks of the tensor axis send in a step, in closed form.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Number of values that one rank sums over the tensor axis in one step without parallel.sequence.
///
/// Each is an all-reduce of one micro-batch; the numbers are those of unit_collectives, for all units and
/// micro-batches.
///
/// Source: Shoeybi et al., "Megatron-LM", 2019, section 3: 4 all-reduces per layer and micro-batch
struct TensorSums {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    std::int64_t recomputed = 0;

    bool operator==(const TensorSums&) const = default;
};

/// \pre parallel.sequence is off
TensorSums tensor_sums(const spec::RunSpec& spec, const ModelLayout& model);

/// Returns the bytes that one rank sends over the tensor axis between phases of one step
/// (Purpose::tensor).
///
/// Bytes are counted as in a ring, without those of recompute.split. For M micro-batches with activations of
/// b bytes and T tokens, 12 bytes of loss statistics per token on the stage of the head, and t ranks:
///
///     M ((2 sums + gathers + scatters) b + 2 square_sums 8 T)(1 - 1/t) + 12 (t - 1) M T
///
/// with the collectives of unit_collectives. Tiles do not change the result.
std::int64_t tensor_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

/// Returns the bytes of gradients that one rank sends in a step over axes other than the data axis.
///
/// Bytes are counted as in a ring (Purpose::gradients). Each term applies to the trained elements in this
/// rank's piece over the data axis, in precision.gradient:
///
///     2(1 - 1/t)   of norms and other whole tensors with parallel.sequence, among t tensor ranks
///     2(1 - 1/s)   of heads of keys and values that s tensor ranks share
///     2(1 - 1/2)   of a tied embedding, all its tensors, on the first and on the last of several stages
double gradient_sum_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
