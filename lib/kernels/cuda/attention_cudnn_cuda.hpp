/// CudnnAttention: causal attention of bfloat16 by cuDNN; only *_cuda files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {

/// cuDNN on one GPU, with a plan of each pass for each shape, made once.
///
/// cuDNN's first choice for a shape is taken. Its backward pass adds in a fixed order, which it is asked for,
/// so a shape has the same bits each time on GPUs of one model with one version of the library.
///
/// The library is opened when the first of these is made, and not linked: a machine without it runs our own
/// kernels.
class CudnnAttention {
  public:
    using bfloat16 = tensor::bfloat16;

    /// Of the calling thread's GPU; without the library, `has` is always false.
    CudnnAttention();
    ~CudnnAttention();
    CudnnAttention(const CudnnAttention&) = delete;
    CudnnAttention& operator=(const CudnnAttention&) = delete;

    /// Whether cuDNN has both passes of `shape` within what layout::CudaWorkspaces says. Compiles them when
    /// it is asked first, which takes seconds.
    bool has(const AttentionShape& shape);

    /// As attention_forward, but `lse` is the natural logarithm. \pre has(shape)
    ///
    /// \param workspace  as large as layout::CudaWorkspaces says, wherever it begins
    /// Errors: Error{internal} when it cannot be launched
    void forward(const device::Stream& stream,
                 const AttentionShape& shape,
                 const bfloat16* qkv,
                 bfloat16* out,
                 float* lse,
                 std::span<std::byte> workspace);
    /// As attention_backward, of what `forward` left. \pre has(shape)
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

    std::unique_ptr<Gpu> gpu_;  ///< none without the library
};

/// A GPU that need not be there.
struct DescribedGpu {
    std::string properties;  ///< JSON, as cuDNN writes it (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
    int capability;          ///< compute capability, 90 for 9.0
};

/// What cuDNN answers about both passes of a shape.
struct CudnnAnswer {
    std::string refusal = {};         ///< its words; empty: it has both
    std::int64_t forward_bytes = -1;  ///< workspaces; -1: not asked for
    std::int64_t backward_bytes = -1;
};

/// Asks about a GPU that is described; needs a library by the name of the driver's.
///
/// \param compiles  also the kernels, which then say how much workspace they take
/// Errors: Error{resource} without the library
CudnnAnswer ask_cudnn(const AttentionShape& shape, const DescribedGpu& gpu, bool compiles);

/// Name and version of the library of this process, and, where it cannot be used, why.
AttentionLibrary cudnn_library();

}  // namespace ziggurat::kernels::cuda
