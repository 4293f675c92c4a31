#include "kernels/attention.hpp"

#include <cstddef>
#include <span>
#include <type_traits>

#include "base/contract.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/attention_library.hpp"
#include "kernels/built_with.hpp"
#include "kernels/cuda/attention_launch_cuda.hpp"
#include "kernels/cuda/attention_mma_cuda.hpp"
#include "kernels/cuda/cudnn/attention_cudnn_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <class T, class... Others>
AttentionArguments<T> arguments(const AttentionShape& shape,
                                TensorRef<const T, 2> qkv,
                                TensorRef<const std::int32_t, 1> document_starts,
                                const DropoutView& dropout,
                                const Others*... others) {
    return {.shape = shape,
            .qkv = qkv.data,
            .document_starts = document_starts.empty() ? nullptr : document_starts.data,
            .dropout = dropout,
            .scale = shape.score_scale(),
            .scores = SoftcapReader::of(shape.score_scale(), shape.score_cap),
            .is_aligned = are_rows_aligned(shape.head_dim, qkv.data, others...)};
}

template <class T>
inline constexpr bool may_be_cudnn = std::is_same_v<T, tensor::bfloat16> && (has_cudnn);

/// Returns cuDNN if it computes calls of the shape; nullptr otherwise.
template <class T>
CudnnAttention* cudnn_for(const device::Stream& stream, const AttentionShape& shape) {
    if constexpr (may_be_cudnn<T>) {
        auto* const cudnn = device::cuda::libraries_of(stream).get<CudnnAttention>().get();
        return cudnn->has(shape) ? cudnn : nullptr;
    }
    return nullptr;
}

/// Returns the use of a call. Starts of windows are like those of documents.
template <class T>
layout::AttentionUse use_of(const AttentionShape& shape,
                            TensorRef<const std::int32_t, 1> document_starts,
                            const DropoutView& dropout) {
    return {.is_bfloat16 = std::is_same_v<T, tensor::bfloat16>,
            .has_documents = !document_starts.empty(),
            .has_dropout = dropout.probability != 0,
            .has_softcap = shape.score_cap > 0};
}

}  // namespace

template <class T>
AttentionKernel prepare_attention(const device::Stream& stream,
                                  const AttentionShape& shape,
                                  const layout::AttentionUse& use) {
    ZG_EXPECTS(use.is_bfloat16 == (std::is_same_v<T, tensor::bfloat16>));
    const layout::AttentionSizes sizes{shape.batch,    shape.seq,      shape.heads,
                                       shape.kv_heads, shape.head_dim, shape.any_order};
    const auto choose = [&](bool has_cudnn) {
        return layout::choose_attention(use, sizes, layout::any_capability, has_cudnn).kernel;
    };
    // cuDNN compiles for seconds, so it is queried only about calls that it may support.
    const auto kernel = choose(true);
    return kernel != AttentionKernel::cudnn || cudnn_for<T>(stream, shape) != nullptr ? kernel
                                                                                      : choose(false);
}

AttentionLibrary attention_library() {
    if constexpr (has_cudnn) {
        return cudnn_library();
    }
    return {};
}

template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       TensorRef<const T, 2> qkv,
                       TensorRef<const std::int32_t, 1> document_starts,
                       const DropoutView& dropout,
                       TensorRef<T, 2> out,
                       TensorRef<float, 3> lse,
                       std::span<std::byte> workspace) {
    const auto kernel = cuda::prepare_attention<T>(stream, shape, use_of<T>(shape, document_starts, dropout));
    const auto of = arguments(shape, qkv, document_starts, dropout);
    const AttentionResults<T> results{.out = out.data, .lse = lse.data};
    if constexpr (may_be_cudnn<T>) {
        if (kernel == AttentionKernel::cudnn) {
            cudnn_for<T>(stream, shape)->forward(stream, shape, qkv.data, out.data, lse.data, workspace);
            return;
        }
    }
    if constexpr (std::is_same_v<T, tensor::bfloat16>) {
        if (kernel == AttentionKernel::tensor_cores) {
            mma_attention_forward(stream, of, results);
            return;
        }
    }
    launch_attention_forward(stream, of, results);
}

template <class T>
void attention_backward(const device::Stream& stream,
                        const AttentionShape& shape,
                        TensorRef<const T, 2> qkv,
                        TensorRef<const std::int32_t, 1> document_starts,
                        const DropoutView& dropout,
                        TensorRef<const T, 2> out,
                        TensorRef<const T, 2> d_out,
                        TensorRef<const float, 3> lse,
                        TensorRef<T, 2> d_qkv,
                        std::span<std::byte> workspace) {
    const auto kernel = cuda::prepare_attention<T>(stream, shape, use_of<T>(shape, document_starts, dropout));
    if constexpr (may_be_cudnn<T>) {
        if (kernel == AttentionKernel::cudnn) {
            cudnn_for<T>(stream, shape)
                ->backward(stream, shape, qkv.data, out.data, d_out.data, lse.data, d_qkv.data, workspace);
            return;
        }
    }
    const auto of = arguments(shape, qkv, document_starts, dropout, d_out.data);
    const AttentionGradients<T> with{
        .out = out.data, .d_out = d_out.data, .lse = lse.data, .d_qkv = d_qkv.data};
    if constexpr (std::is_same_v<T, tensor::bfloat16>) {
        if (kernel == AttentionKernel::tensor_cores) {
            mma_attention_backward(stream, of, with, workspace);
            return;
        }
    }
    launch_attention_backward(stream, of, with);
}

#define ZG_INSTANTIATE(T)                                                                       \
    template AttentionKernel prepare_attention<T>(const device::Stream&, const AttentionShape&, \
                                                  const layout::AttentionUse&)
ZG_INSTANTIATE(float);
ZG_INSTANTIATE(tensor::bfloat16);
#undef ZG_INSTANTIATE

ZG_REGISTER_CUDA_KERNEL(attention_forward<float>);
ZG_REGISTER_CUDA_KERNEL(attention_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(attention_backward<float>);
ZG_REGISTER_CUDA_KERNEL(attention_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
