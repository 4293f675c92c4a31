/// Inputs that change from step to step: kernels read them from memory, and no op has them as arguments.
#pragma once

#include <cstdint>

#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// Written by the trainer before a step's first op (and, where said, by ops of the step itself).
struct StepInputs {
    std::int64_t step = 0;  ///< index of this optimizer step, from 0
    float learning_rate = 0;
    float inverse_bias1 = 1;       ///< 1 / (1 - beta1^t), t = updates done, this one included
    float inverse_sqrt_bias2 = 1;  ///< 1 / sqrt(1 - beta2^t)
    float loss_scale = 1;          ///< 1 / target tokens of the global batch
    float gradient_scale = 1;      ///< the clip factor; written by the norm op
    std::int32_t skip = 0;  ///< 1: the update is not applied (a non-finite gradient); written by the norm op
};

/// Where and with what probability values are dropped.
///
/// Philox keyed by (seed, purpose, step) over global coordinates, so the mask is the same on any layout and
/// in a recomputation. probability 0 means no dropout, and then nothing else is read.
struct Dropout {
    float probability = 0;
    std::uint64_t seed = 0;
    std::uint32_t purpose = 0;                    ///< unique for each place of the model (layer and site)
    VectorAddress<const std::int64_t> samples{};  ///< [batch] global sample index of each sequence
    /// Tokens per sequence: row r of the batch is position r % sequence of sample r / sequence.
    std::int64_t sequence = 0;
    /// Row of the batch that row 0 of a call is; a slice may begin inside a sequence.
    std::int64_t first_row = 0;
    ObjectAddress<const StepInputs> inputs{};  ///< for the step
};

/// The same as a sibling gets it, which reads what its addresses name.
struct ReadableDropout {
    float probability = 0;
    std::uint64_t seed = 0;
    std::uint32_t purpose = 0;
    const std::int64_t* samples = nullptr;
    std::int64_t sequence = 0;
    std::int64_t first_row = 0;
    const StepInputs* inputs = nullptr;
};

/// Whether a gradient is stored or added to what is there.
enum class Accumulate { no, yes };

}  // namespace ziggurat::kernels
