/// GluProduct: a matrix product and the gradient of a gated linear unit before it, on GPUs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/stream.hpp"
#include "kernels/launch/kernel_backend.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

/// A gated linear unit (swiglu.hpp).
enum class GatedUnit { swiglu, geglu };

/// Sizes of the product d_active[rows, width] = dy[rows, out] w[out, width].
struct GluProductShape {
    std::int64_t rows, width, out;
    GatedUnit unit;    ///< has the output active[rows, width], whose gradient is d_active
    bool with_output;  ///< active is computed again

    auto operator<=>(const GluProductShape&) const = default;
};

class PreparedGluProduct;

/// The gradient of a gated unit whose output a product reads, prepared once and executed many times.
///
/// cuDNN computes the product and the gradient in one kernel if it has one for the shape. Otherwise, this is
/// the same as Linear::backward_input and swiglu_backward or geglu_backward. With ProductTuner::measure(),
/// Stream::load() times both, and the faster one is used.
///
/// Shapes:   dy [rows, out]; w [out, width]; x, dx [rows, 2 * width]; active [rows, width], or empty
/// Numerics: sums and the unit in float. In one kernel, d_active is not rounded, so the bits differ from those
///           of two kernels. The same kernel always has the same bits.
/// Aliasing: none
/// Async:    on `stream`; arguments, including the workspace, and this object must live until it has run
/// Errors:   Error{internal} if shapes or a workspace disagree with the prepared ones, or on the host;
///           Error{resource} if a GPU's library cannot be started
class GluProduct {
  public:
    using bfloat16 = tensor::bfloat16;

    /// \param stream  of a GPU
    GluProduct(const device::Stream& stream, const GluProductShape& shape);
    ~GluProduct();
    GluProduct(GluProduct&&) noexcept;
    GluProduct& operator=(GluProduct&&) noexcept;

    /// Returns the scratch of a call; at most layout::Workspaces::linear.
    std::int64_t workspace_bytes() const noexcept;
    /// Returns why there is no kernel of cuDNN; empty if there is one.
    std::string refusal() const;

    /// Computes dx from dy, w and the input x of the unit, and with shape.with_output its output `active`.
    void backward(const device::Stream& stream,
                  TensorAddress<const bfloat16, 2> dy,
                  TensorAddress<const bfloat16, 2> w,
                  TensorAddress<const bfloat16, 2> x,
                  TensorAddress<bfloat16, 2> dx,
                  TensorAddress<bfloat16, 2> active,
                  VectorAddress<std::byte> workspace) const;

  private:
    GluProductShape shape_;
    std::unique_ptr<PreparedGluProduct> prepared_;
};

/// Kernel of GluProduct::backward. Scratch is aligned to layout::CudaWorkspaces::alignment.
void glu_product_backward(const device::Stream& stream,
                          PreparedArgument<PreparedGluProduct> product,
                          TensorAddress<const tensor::bfloat16, 2> dy,
                          TensorAddress<const tensor::bfloat16, 2> w,
                          TensorAddress<const tensor::bfloat16, 2> x,
                          TensorAddress<tensor::bfloat16, 2> dx,
                          TensorAddress<tensor::bfloat16, 2> active,
                          VectorAddress<std::byte> scratch);

/// A GluProduct on a GPU. cuda/product implements it.
class PreparedGluProduct {
  public:
    virtual ~PreparedGluProduct() = default;

    virtual std::int64_t scratch_bytes() const = 0;
    virtual std::string refusal() const = 0;
};

namespace cuda {

std::unique_ptr<PreparedGluProduct> make_glu_product(const device::Stream& stream,
                                                     const GluProductShape& shape);

}  // namespace cuda
}  // namespace ziggurat::kernels
