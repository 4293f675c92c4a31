/// The three matrix products of a linear layer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// y[rows, out] = x[rows, in] w[out, in]^T (+ bias[out]).
struct LinearShape {
    std::int64_t rows, in, out;
    bool has_bias;
    bool is_tile = false;    ///< some rows of a weight: prepared for backward_input_sum as well
    bool with_gelu = false;  ///< prepared for forward_gelu and backward_input_gelu as well

    auto operator<=>(const LinearShape&) const = default;
};

/// What addresses of matrices [*, width] of `element_bytes` each are multiples of on a GPU, in bytes: what 16
/// bytes and the length of a row have in common. Rows of a weight, which a tile begins with, keep to it.
constexpr std::int64_t alignment_of_rows(std::int64_t width, std::int64_t element_bytes) {
    const auto row = width * element_bytes;
    const auto common = row & -row;
    return common < 16 ? common : 16;
}

/// What a packed weight is good for: the roles of `in` and `out` swap between the two.
enum class Packing { forward, backward_input };

template <class T>
class LinearProducts;

/// One linear layer of a given shape, prepared once and executed many times.
///
/// On the host, a weight is packed into scratch just before each use, which pays even for one product; one
/// that is used several times in a row (the head, by chunks of rows) is packed once by `pack`. GPUs read a
/// weight where it lies: there is nothing to pack, packed_bytes() is 0, and calls that pack or take what is
/// packed are refused.
///
/// Shapes:   x [rows, in]; w [out, in]; bias [out], empty without one; y, dy [rows, out]; dx [rows, in];
///           dw [out, in] float whatever T is
/// Numerics: sums in float; products of floats are not rounded to less. On the host, the bits of an element
///           depend on its row of the left factor and on its column of the right one only: not on the number
///           of rows, the number of threads, or who packed the weight. On a GPU they depend on the shape as
///           well: cuBLASLt chooses how to sum by it, once, when this object is made, and always alike on
///           GPUs of one architecture and number of multiprocessors. So there the same shape has the same
///           bits wherever it occurs, but rows that are computed in a smaller call, or columns in a tile,
///           need not have those of the whole.
/// Aliasing: outputs overlap nothing
/// Alignment: on a GPU, of addresses as alignment_of_rows() says
/// Async:    on `stream`; arguments, workspace included, and this object must live until it has run
/// Errors:   Error{internal} when shapes, a workspace or an alignment disagree with the prepared ones;
///           Error{resource} when a GPU's library cannot be started
template <class T>
class Linear {
  public:
    /// No rows is a shape like any other: its products do nothing, but for `dw`, which becomes zero when
    /// stored.
    ///
    /// \param stream  of the processor that it is prepared for, with the number of threads that its
    ///                products are prepared for; calls may come on other streams of that processor, with
    ///                as many threads
    Linear(const device::Stream& stream, const LinearShape& shape);
    ~Linear();
    Linear(Linear&&) noexcept;
    Linear& operator=(Linear&&) noexcept;

    const LinearShape& shape() const noexcept { return shape_; }

    /// Scratch that any call of this object needs; at most layout::Workspaces::linear.
    std::int64_t workspace_bytes() const noexcept;
    /// Scratch of the calls that take a packed weight and of backward_weight; at most
    /// layout::Workspaces::packed_linear.
    std::int64_t packed_workspace_bytes() const noexcept;
    /// What `pack` writes; at most layout::Workspaces::packed_weight. 0: there is nothing to pack.
    std::int64_t packed_bytes(Packing packing) const noexcept;

    /// y = x w^T + bias
    void forward(const device::Stream& stream,
                 TensorAddress<const T, 2> x,
                 TensorAddress<const T, 2> w,
                 VectorAddress<const T> bias,
                 TensorAddress<T, 2> y,
                 VectorAddress<std::byte> workspace) const;

    /// y = x w^T + bias; active = gelu(y), in its tanh form
    ///
    /// On a GPU cuBLASLt computes both in one pass if it has a kernel for the shape: gelu() then gets y
    /// before it is rounded to T. Everywhere else this is forward and gelu_forward.
    ///
    /// \pre shape().with_gelu
    void forward_gelu(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      TensorAddress<const T, 2> w,
                      VectorAddress<const T> bias,
                      TensorAddress<T, 2> y,
                      TensorAddress<T, 2> active,
                      VectorAddress<std::byte> workspace) const;

    /// dx = (dy w) gelu'(before), where x = gelu(before) [rows, in]; see forward_gelu
    ///
    /// \pre shape().with_gelu
    void backward_input_gelu(const device::Stream& stream,
                             TensorAddress<const T, 2> dy,
                             TensorAddress<const T, 2> w,
                             TensorAddress<const T, 2> before,
                             TensorAddress<T, 2> dx,
                             VectorAddress<std::byte> workspace) const;

    /// dx = dy w
    void backward_input(const device::Stream& stream,
                        TensorAddress<const T, 2> dy,
                        TensorAddress<const T, 2> w,
                        TensorAddress<T, 2> dx,
                        VectorAddress<std::byte> workspace) const;

    /// dx = dy w or dx += dy w in float: one summand of a gradient that comes through several tiles.
    ///
    /// \pre shape().is_tile
    void backward_input_sum(const device::Stream& stream,
                            TensorAddress<const T, 2> dy,
                            TensorAddress<const T, 2> w,
                            TensorAddress<float, 2> dx,
                            Accumulate accumulate,
                            VectorAddress<std::byte> workspace) const;

    /// dw = dy^T x, stored or added
    void backward_weight(const device::Stream& stream,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         TensorAddress<float, 2> dw,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace) const;

    /// \pre packed_bytes() is not 0; `packed`, here as in the products that read it, is aligned to 64 bytes
    void pack(const device::Stream& stream,
              Packing packing,
              TensorAddress<const T, 2> w,
              VectorAddress<std::byte> packed) const;

    /// `packed` was written by `pack` with Packing::forward, by an object of the same `in` and `out`.
    void forward_packed(const device::Stream& stream,
                        TensorAddress<const T, 2> x,
                        VectorAddress<const std::byte> packed,
                        VectorAddress<const T> bias,
                        TensorAddress<T, 2> y,
                        VectorAddress<std::byte> workspace) const;

    /// `packed` was written by `pack` with Packing::backward_input, by an object of the same `in` and `out`.
    void backward_input_packed(const device::Stream& stream,
                               TensorAddress<const T, 2> dy,
                               VectorAddress<const std::byte> packed,
                               TensorAddress<T, 2> dx,
                               VectorAddress<std::byte> workspace) const;

  private:
    bool is_packed(Packing packing, VectorAddress<const std::byte> packed) const;
    /// `weight` as the products read it.
    void multiply_forward(const device::Stream& stream,
                          TensorAddress<const T, 2> x,
                          VectorAddress<const std::byte> weight,
                          VectorAddress<const T> bias,
                          TensorAddress<T, 2> y,
                          VectorAddress<std::byte> workspace) const;
    void multiply_backward(const device::Stream& stream,
                           TensorAddress<const T, 2> dy,
                           VectorAddress<const std::byte> weight,
                           TensorAddress<T, 2> dx,
                           VectorAddress<std::byte> workspace) const;

    LinearShape shape_;
    std::unique_ptr<LinearProducts<T>> products_;
};

}  // namespace ziggurat::kernels
