/// CudnnAttention: causal attention of bfloat16 by cuDNN; only *_cuda files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "kernels/cuda/cudnn/cudnn_library_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {

/// cuDNN on one GPU, with a plan of each pass for each shape, created once.
///
/// Uses cuDNN's first choice for a shape, with deterministic backward unless AttentionShape::any_order is
/// set. A shape therefore always has the same bits on GPUs of one model with one version of the library.
///
/// The first object opens the library, which is not linked. A machine without it uses Ziggurat's kernels.
class CudnnAttention {
  public:
    using bfloat16 = tensor::bfloat16;

    /// Opens cuDNN on the calling thread's GPU. Without the library, `has` always returns false.
    CudnnAttention();
    ~CudnnAttention();
    CudnnAttention(const CudnnAttention&) = delete;
    CudnnAttention& operator=(const CudnnAttention&) = delete;

    /// Returns true if cuDNN computes both passes of `shape` within the limits of layout::CudaWorkspaces.
    ///
    /// The first call for a shape compiles them, which takes seconds.
    bool has(const AttentionShape& shape);

    /// Computes attention_forward, except that `lse` is the natural logarithm. \pre has(shape)
    ///
    /// \param workspace  as large as in layout::CudaWorkspaces, with any alignment
    /// Errors: Error{internal} if the launch fails
    void forward(const device::Stream& stream,
                 const AttentionShape& shape,
                 const bfloat16* qkv,
                 bfloat16* out,
                 float* lse,
                 std::span<std::byte> workspace);
    /// Computes attention_backward from the results of `forward`. \pre has(shape)
    void backward(const device::Stream& stream,
                  const AttentionShape& shape,
                  const bfloat16* qkv,
                  const bfloat16* out,
                  const bfloat16* d_out,
                  const float* lse,
                  bfloat16* d_qkv,
                  std::span<std::byte> workspace);

  private:
    struct Gpu;
    struct Plan;

    const Plan* plan_of(const AttentionShape& shape);

    std::unique_ptr<Gpu> gpu_;  ///< nullptr without the library
};

/// cuDNN's support of both passes of a shape.
struct CudnnAnswer {
    std::string refusal = {};         ///< cuDNN's message; empty: it supports both
    std::int64_t forward_bytes = -1;  ///< workspaces; -1: not requested
    std::int64_t backward_bytes = -1;
};

/// Queries support for a described GPU. A library with the name of the driver's must exist.
///
/// \param compiles  also compile the kernels and return their workspaces
/// Errors: Error{resource} without the library
CudnnAnswer ask_cudnn(const AttentionShape& shape, const DescribedGpu& gpu, bool compiles);

}  // namespace ziggurat::kernels::cuda
