#include "kernels/cuda/attention_mma_cuda.hpp"

#include "kernels/cuda/attention_mma_launch_cuda.hpp"

namespace ziggurat::kernels::cuda {

void mma_attention_forward(const device::Stream& stream,
                           const AttentionArguments<tensor::bfloat16>& of,
                           const AttentionResults<tensor::bfloat16>& results) {
    expect_aligned(of.qkv, results.out);
    launch_mma_forward(stream, of, results);
}

void mma_attention_backward(const device::Stream& stream,
                            const AttentionArguments<tensor::bfloat16>& of,
                            const AttentionGradients<tensor::bfloat16>& with,
                            std::span<std::byte> workspace) {
    expect_aligned(of.qkv, with.out, with.d_out, with.d_qkv);
    launch_mma_backward(stream, of, with, workspace);
}

}  // namespace ziggurat::kernels::cuda
