/// Attention in bfloat16 on tensor cores with Ziggurat's kernels; only attention_cuda.cu includes it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/cuda/attention_backward_cuda.hpp"
#include "kernels/cuda/attention_forward_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Computes attention_forward without dropout; lse in base 2.
///
/// \pre layout::CudaWorkspaces::has_tensor_cores; tensors begin at multiples of 16 bytes
void mma_attention_forward(const device::Stream& stream,
                           const AttentionArguments<tensor::bfloat16>& of,
                           const AttentionResults<tensor::bfloat16>& results);

/// Computes attention_backward from the results of mma_attention_forward.
///
/// \param workspace  layout::CudaWorkspaces::attention_deltas
void mma_attention_backward(const device::Stream& stream,
                            const AttentionArguments<tensor::bfloat16>& of,
                            const AttentionGradients<tensor::bfloat16>& with,
                            std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::cuda
