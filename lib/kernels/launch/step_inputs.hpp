/// Inputs that change with each step. Kernels read them from memory, so no op has them as arguments.
#pragma once

#include <cstdint>

#include "kernels/launch/tensor_address.hpp"
#include "layout/context/context_rows.hpp"

namespace ziggurat::kernels {

/// Inputs of a step. The trainer writes them before its first op; ops write the fields marked below.
struct StepInputs {
    std::int64_t step = 0;  ///< index of this optimizer step, from 0
    float learning_rate = 0;
    float inverse_bias1 = 1;       ///< 1 / (1 - beta1^t), t = number of updates including this one
    float inverse_sqrt_bias2 = 1;  ///< 1 / sqrt(1 - beta2^t)
    float loss_scale = 1;          ///< 1 / target tokens of the global batch
    float average_keep = 0;        ///< factor of the weights' average; 0: it becomes a copy of the weights
    float average_take = 1;        ///< factor of the weights that are added to it
    float gradient_scale = 1;      ///< the clip factor; written by the norm op
    std::int32_t skip = 0;  ///< 1: the update is not applied (a non-finite gradient); written by the norm op
    /// 1: updates that assumed gradient_scale = 1 and skip = 0 are repeated; written by the norm op.
    std::int32_t redoes_updates = 0;
    std::int32_t sums_norms = 0;  ///< 1: updates sum the squares of weights and of their changes
};

/// Probability and positions of dropout, and a constant factor of the values.
///
/// Uses Philox keyed by (seed, purpose, step) over global coordinates, so the mask is the same on any layout
/// and in recomputation. If probability is 0, there is no dropout and only `factor` is read.
struct Dropout {
    float probability = 0;
    /// Factor of all values, also without dropout. Only kernels that add a branch, and dropout_backward,
    /// accept one other than 1.
    float factor = 1;
    std::uint64_t seed = 0;
    std::uint32_t purpose = 0;  ///< unique for each dropout site of the model (layer and site)
    VectorAddress<const std::int64_t> samples{};  ///< [batch] global sample index of each sequence
    /// Tokens per sequence: row r of the batch is token r % sequence of sample r / sequence.
    std::int64_t sequence = 0;
    /// Row of the batch that corresponds to row 0 of a call. A slice may begin inside a sequence.
    std::int64_t first_row = 0;
    /// Channel of the model that is channel 0 of a call, if other ranks have the rest of each row.
    std::int64_t first_channel = 0;
    /// Positions of the tokens of a sequence, if other ranks have the rest of it.
    layout::ContextRows rows{};
    ObjectAddress<const StepInputs> inputs{};  ///< gives the step
    /// Steps from that one to the step of the samples, whose forward runs ahead of it.
    std::int64_t steps_ahead = 0;
};

/// The same with addresses that a backend can read.
struct DropoutView {
    float probability = 0;
    float factor = 1;
    std::uint64_t seed = 0;
    std::uint32_t purpose = 0;
    const std::int64_t* samples = nullptr;
    std::int64_t sequence = 0;
    std::int64_t first_row = 0;
    std::int64_t first_channel = 0;
    layout::ContextRows rows{};
    const StepInputs* inputs = nullptr;
    std::int64_t steps_ahead = 0;
};

/// Store a gradient, or add it to the existing values.
enum class Accumulate { no, yes };

}  // namespace ziggurat::kernels
