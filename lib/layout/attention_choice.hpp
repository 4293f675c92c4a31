/// Choice of the kernel that computes attention: one decision for plans, workspaces and calls.
#pragma once

#include "layout/workspaces.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Kernels that compute attention: of the host; on GPUs in float; on their tensor cores; or those of cuDNN.
enum class AttentionKernel { host, cuda_cores, tensor_cores, cudnn };

/// Name as in metrics and JSON: "host", "cuda_cores", "tensor_cores", "cudnn".
const char* to_string(AttentionKernel kernel);
/// Name for people; of cuDNN without its version.
const char* describe(AttentionKernel kernel);

/// Properties of calls that decide, with their sizes, which kernel of a GPU serves them.
struct AttentionUse {
    bool is_bfloat16 = false;
    bool has_documents = false;  ///< document starts are given: queries do not see all of their sequence
    bool has_dropout = false;    ///< the probability is not 0

    bool operator==(const AttentionUse&) const = default;
};

/// Properties of the attention calls of `run`. \param trains  false: of validation, which drops nothing
AttentionUse attention_use(const spec::RunSpec& run, bool trains);

struct AttentionChoice {
    AttentionKernel kernel = AttentionKernel::host;
    /// Why no kernel of a higher rank serves the calls, for people; empty with cuDNN.
    const char* reason = "";
};

/// Compute capability that leaves it to cuDNN on the GPU itself to refuse sizes.
inline constexpr int any_capability = 1000;

/// Chooses among the kernels of a GPU.
///
/// \param capability  of the GPU: 90 for compute capability 9.0
/// \param has_cudnn   false: cuDNN is missing, or has refused the sizes
AttentionChoice choose_attention(const AttentionUse& use,
                                 const AttentionSizes& sizes,
                                 int capability,
                                 bool has_cudnn);

}  // namespace ziggurat::layout
