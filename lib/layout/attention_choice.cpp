#include "layout/attention_choice.hpp"

#include <stdexcept>

#include "layout/cuda_workspaces.hpp"

namespace ziggurat::layout {
namespace {

/// Returns the reason why cuDNN does not support such calls; nullptr if it supports them.
///
/// Source: support checks of cuDNN's frontend 1.32 for described GPUs (tests/cuda/cudnn_test.cpp)
const char* cudnn_obstacle(const AttentionUse& use, const AttentionSizes& sizes, int capability) {
    if (!use.is_bfloat16) {
        return "cuDNN and tensor cores need precision.compute: bf16";
    }
    if (use.has_dropout) {
        return "cuDNN and tensor cores need model.dropout: 0";
    }
    if (use.has_softcap) {
        return "cuDNN and tensor cores need layers without model.softcap.attention";
    }
    if (use.is_ring) {
        return "cuDNN needs parallel.context.kind: ulysses";
    }
    if (use.has_documents) {
        return "cuDNN needs data.reset_at_document: false";
    }
    if (use.has_window) {
        return "cuDNN needs layers without model.window";
    }
    if (!CudaWorkspaces::attention_piece(sizes)) {
        return "cuDNN needs sequences of whole tiles of 128 tokens, a head size that is a multiple of 8 up "
               "to "
               "256, and at most 2 GiB for one head";
    }
    if (sizes.head_dim > CudaWorkspaces::max_head_dim_before_90 && capability < 90) {
        return "cuDNN needs a GPU of compute capability 9.0 for heads of more than 128 channels";
    }
    return nullptr;
}

}  // namespace

const char* to_string(AttentionKernel kernel) {
    switch (kernel) {
        case AttentionKernel::host:
            return "host";
        case AttentionKernel::cuda_cores:
            return "cuda_cores";
        case AttentionKernel::tensor_cores:
            return "tensor_cores";
        case AttentionKernel::cudnn:
            return "cudnn";
    }
    throw std::invalid_argument{"no AttentionKernel"};
}

const char* describe(AttentionKernel kernel) {
    switch (kernel) {
        case AttentionKernel::host:
            return "host kernels";
        case AttentionKernel::cuda_cores:
            return "Ziggurat's kernels without tensor cores";
        case AttentionKernel::tensor_cores:
            return "Ziggurat's kernels on tensor cores";
        case AttentionKernel::cudnn:
            return "cuDNN";
    }
    throw std::invalid_argument{"no AttentionKernel"};
}

AttentionUse attention_use(const spec::RunSpec& run, bool trains, std::int64_t window) {
    return {.is_bfloat16 = run.precision.compute == spec::DType::bf16,
            .has_documents = run.data.reset_at_document,
            .has_window = window > 0,
            .has_dropout = trains && run.model.dropout > 0,
            .has_softcap = run.model.softcap.attention > 0,
            .is_ring = run.parallel.context > 1 && run.parallel.context_kind == spec::ContextKind::ring};
}

AttentionChoice choose_attention(const AttentionUse& use,
                                 const AttentionSizes& sizes,
                                 int capability,
                                 bool has_cudnn) {
    const char* obstacle = cudnn_obstacle(use, sizes, capability);
    if (obstacle == nullptr && has_cudnn) {
        return {AttentionKernel::cudnn, ""};
    }
    if (obstacle == nullptr) {
        obstacle = "cuDNN is missing or rejects these sizes";
    }
    const bool may_use_tensor_cores = use.is_bfloat16 && !use.has_dropout && !use.has_softcap;
    if (may_use_tensor_cores && !CudaWorkspaces::has_tensor_cores(sizes.head_dim)) {
        return {AttentionKernel::cuda_cores,
                "Ziggurat's kernels on tensor cores need a head size that is a multiple of 8 up to 128, and "
                "cuDNN cannot be used"};
    }
    return {may_use_tensor_cores ? AttentionKernel::tensor_cores : AttentionKernel::cuda_cores, obstacle};
}

}  // namespace ziggurat::layout
