/// Choice of the kernel that computes attention: one decision for plans, workspaces and calls.
#pragma once

#include "layout/workspaces.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Kernels that compute attention.
///
/// They run on the host; on the CUDA cores of a GPU; on its tensor cores; or in cuDNN.
enum class AttentionKernel { host, cuda_cores, tensor_cores, cudnn };

/// Name as in metrics and JSON: "host", "cuda_cores", "tensor_cores", "cudnn".
const char* to_string(AttentionKernel kernel);
/// Returns a human-readable name; for cuDNN without its version.
const char* describe(AttentionKernel kernel);

/// Properties of attention calls that, with their sizes, determine which kernel of a GPU can run them.
struct AttentionUse {
    bool is_bfloat16 = false;
    bool has_documents = false;  ///< document starts are given: queries attend only to their own document
    bool has_window = false;     ///< queries attend to a window; it is also given as starts
    bool has_dropout = false;    ///< the probability is not 0
    bool has_softcap = false;    ///< scores are capped (model.softcap.attention)
    bool is_ring = false;        ///< calls are rounds of a ring (parallel.context.kind), for blocks of keys

    bool operator==(const AttentionUse&) const = default;
};

/// Returns the properties of the attention calls of `run`.
///
/// \param trains  false: validation, without dropout
/// \param window  of the layer, in the run's sequences (layout::window_in_run); 0: none
AttentionUse attention_use(const spec::RunSpec& run, bool trains, std::int64_t window);

struct AttentionChoice {
    AttentionKernel kernel = AttentionKernel::host;
    /// Human-readable reason why no faster kernel can run the calls; empty for cuDNN.
    const char* reason = "";
};

/// Compute capability that skips the check per GPU: cuDNN itself rejects unsupported sizes at run time.
inline constexpr int any_capability = 1000;

/// Chooses one of the attention kernels of a GPU.
///
/// \param capability  compute capability of the GPU: 90 for 9.0
/// \param has_cudnn   false if cuDNN is missing or has rejected the sizes
AttentionChoice choose_attention(const AttentionUse& use,
                                 const AttentionSizes& sizes,
                                 int capability,
                                 bool has_cudnn);

}  // namespace ziggurat::layout
