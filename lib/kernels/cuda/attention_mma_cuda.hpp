/// Attention in bfloat16 on tensor cores, by kernels of our own; only attention_cuda.cu includes it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/cuda/attention_backward_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// As attention_forward without dropout; lse in base 2. \pre layout::CudaWorkspaces::has_tensor_cores, and
/// tensors begin at multiples of 16 bytes
void mma_attention_forward(const device::Stream& stream,
                           const AttentionArguments<tensor::bfloat16>& of,
                           tensor::bfloat16* out,
                           float* lse);

/// As attention_backward of what mma_attention_forward left.
///
/// \param workspace  layout::CudaWorkspaces::attention_deltas
void mma_attention_backward(const device::Stream& stream,
                            const AttentionArguments<tensor::bfloat16>& of,
                            const AttentionGradients<tensor::bfloat16>& with,
                            std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::cuda
