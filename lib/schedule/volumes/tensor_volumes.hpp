/// Volumes that ranks of the tensor axis send each other in a step, by formula.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Activations that one rank sums over the tensor axis in one step without parallel.sequence, each an
/// all-reduce of one micro-batch: those of unit_collectives, of all units and micro-batches.
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

/// Bytes that one rank sends over the tensor axis between phases of one step (Purpose::tensor), as a ring
/// would send them, but for what recompute.split cuts: of M micro-batches with activations of b bytes and T
/// tokens, and 12 bytes of loss statistics per token on the stage of the head, among t ranks
///
///     M (2 sums + gathers + scatters) b(1 - 1/t) + 12 (t - 1) M T
///
/// with the collectives of unit_collectives. Tiles change nothing of it.
std::int64_t tensor_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

/// Bytes of gradients that one rank sends in a step, as a ring would, beside what goes over the data axis
/// (Purpose::gradients): of what is in this rank's piece over that axis, and trained, in precision.gradient,
///
///     2(1 - 1/t)   of norms and other whole tensors with parallel.sequence, among t tensor ranks
///     2(1 - 1/s)   of heads of keys and values that s tensor ranks share
///     2(1 - 1/2)   of a tied embedding, all its tensors, on the first and on the last of several stages
double gradient_sum_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
