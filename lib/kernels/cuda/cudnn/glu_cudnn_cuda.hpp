/// CudnnGlu: a product with the gradient of a gated unit, by cuDNN; only *_cuda files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/stream.hpp"
#include "kernels/cuda/cudnn/cudnn_library_cuda.hpp"
#include "kernels/glu/glu_product.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {

/// Addresses of a call, with the names of GluProduct::backward.
struct GluOperands {
    const tensor::bfloat16 *dy, *w, *x;
    tensor::bfloat16* dx;
    tensor::bfloat16* active;  ///< nullptr without GluProductShape::with_output
};

/// cuDNN on one GPU, with the kernels of each shape, compiled once.
///
/// Numerics: d_active is not rounded. A kernel always has the same bits on GPUs of one model with one version
/// of the library.
class CudnnGlu {
  public:
    /// Maximum number of kernels of a shape.
    static constexpr int max_kernels = 4;

    /// Opens cuDNN on the calling thread's GPU. Without the library, no shape has a kernel.
    CudnnGlu();
    ~CudnnGlu();
    CudnnGlu(const CudnnGlu&) = delete;
    CudnnGlu& operator=(const CudnnGlu&) = delete;

    /// Compiles up to `wanted` kernels of `shape` and returns how many it has.
    ///
    /// cuDNN's first choice comes first. Kernels with a workspace of more than `max_workspace_bytes` do not
    /// count. The first call for a shape takes seconds.
    int prepare(const GluProductShape& shape, int wanted, std::int64_t max_workspace_bytes);
    /// Returns why prepare() found no kernel; empty if it found one.
    std::string refusal(const GluProductShape& shape) const;
    /// Returns the workspace that each kernel of `shape` fits in.
    std::int64_t workspace_bytes(const GluProductShape& shape) const;

    /// Runs a kernel of `shape`. \pre prepare(shape) is larger than `kernel`
    ///
    /// \param workspace  aligned to layout::CudaWorkspaces::alignment
    /// Errors: Error{internal} if the launch fails
    void run(const device::Stream& stream,
             const GluProductShape& shape,
             int kernel,
             const GluOperands& operands,
             void* workspace);

  private:
    struct Gpu;

    std::unique_ptr<Gpu> gpu_;  ///< nullptr without the library
};

/// cuDNN's kernels for a shape on a described GPU.
struct GluAnswer {
    std::string refusal = {};  ///< cuDNN's message; empty: it has a kernel
    int kernels = 0;
    std::int64_t workspace_bytes = 0;
};

/// Compiles up to CudnnGlu::max_kernels kernels. A library with the name of the driver's must exist.
///
/// Errors: Error{resource} without the library
GluAnswer ask_cudnn(const GluProductShape& shape, const DescribedGpu& gpu);

}  // namespace ziggurat::kernels::cuda
