/// The three matrix products of a linear layer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Shape of y[rows, out] = x[rows, in] w[out, in]^T (+ bias[out]).
struct LinearShape {
    std::int64_t rows, in, out;
    bool has_bias;
    bool is_tile = false;    ///< a tile of a weight's rows: also prepared for backward_input_sum
    bool with_gelu = false;  ///< also prepared for forward_gelu and backward_input_gelu
    /// Forward only, up to layout::HostWorkspaces::max_rows_in_place rows: the host does not pack the weight.
    ///
    /// The order of its sums differs from that of the other products.
    bool is_in_place = false;

    auto operator<=>(const LinearShape&) const = default;
};

/// Returns the alignment in bytes, on a GPU, of matrices [*, width].
///
/// This is the largest common divisor of 16 bytes and the length of a row. Weight tiles begin with a row, so
/// they have it too.
constexpr std::int64_t alignment_of_rows(std::int64_t width, std::int64_t element_bytes) {
    const auto row = width * element_bytes;
    const auto common = row & -row;
    return common < 16 ? common : 16;
}

/// Product that reads a packed weight. The roles of `in` and `out` swap between the two.
enum class Packing { forward, backward_input };

template <class T>
class LinearProducts;

/// One linear layer of a given shape, prepared once and executed many times.
///
/// On the host, a weight is packed into scratch directly before each use, which is faster even for one
/// product. A weight that is used several times in a row (the head, in blocks of rows) is packed once with
/// `pack`. GPUs read weights in place: packed_bytes() is 0, and calls that pack or that take packed weights
/// are rejected.
///
/// Shapes:   x [rows, in]; w [out, in]; bias [out], or empty; y, dy [rows, out]; dx [rows, in]; dw [out, in]
///           float for any T
/// Numerics: sums in float; products of floats are not rounded to less. On the host, the bits of an element
///           depend only on its row of the left factor and its column of the right factor. They do not depend
///           on the number of rows, the number of threads, or when the weight was packed. On a GPU they also
///           depend on the shape: cuBLASLt chooses the order of sums by it. The choice is always the same on GPUs
///           of one architecture and number of multiprocessors, unless it is measured (ProductTuner). On
///           GPUs the same shape therefore always has the same bits, but rows that are computed in a
///           smaller call, or columns in a tile, may have other bits than the whole.
/// Aliasing: outputs must not overlap other arguments
/// Alignment: on a GPU, addresses have alignment_of_rows()
/// Async:    on `stream`; arguments, including the workspace, and this object must live until it has run
/// Errors:   Error{internal} if shapes, a workspace or an alignment disagree with the prepared ones;
///           Error{resource} if a GPU's library cannot be started
template <class T>
class Linear {
  public:
    /// Prepares the products. With 0 rows they do nothing, except that a stored `dw` becomes zero.
    ///
    /// \param stream  selects the processor and the number of threads of the products. Calls may use other
    ///                streams of that processor with the same number of threads.
    Linear(const device::Stream& stream, const LinearShape& shape);
    ~Linear();
    Linear(Linear&&) noexcept;
    Linear& operator=(Linear&&) noexcept;

    const LinearShape& shape() const noexcept { return shape_; }

    /// Returns the scratch that any call of this object needs; at most layout::Workspaces::linear.
    std::int64_t workspace_bytes() const noexcept;
    /// Returns the scratch of calls with a packed weight and of backward_weight.
    ///
    /// At most layout::Workspaces::packed_linear.
    std::int64_t packed_workspace_bytes() const noexcept;
    /// Returns the bytes that `pack` writes; at most layout::Workspaces::packed_weight. 0: no packing.
    std::int64_t packed_bytes(Packing packing) const noexcept;

    /// Computes y = x w^T + bias.
    void forward(const device::Stream& stream,
                 TensorAddress<const T, 2> x,
                 TensorAddress<const T, 2> w,
                 VectorAddress<const T> bias,
                 TensorAddress<T, 2> y,
                 VectorAddress<std::byte> workspace) const;

    /// Computes y = x w^T + bias + addend; addend [rows, out].
    ///
    /// On a GPU, y is rounded one time. On the host, this is the same as forward and residual_forward.
    ///
    /// Aliasing: y must not overlap addend
    void forward_added(const device::Stream& stream,
                       TensorAddress<const T, 2> x,
                       TensorAddress<const T, 2> w,
                       VectorAddress<const T> bias,
                       TensorAddress<const T, 2> addend,
                       TensorAddress<T, 2> y,
                       VectorAddress<std::byte> workspace) const;

    /// Computes y = x w^T + bias and active = gelu(y) in tanh form.
    ///
    /// On a GPU cuBLASLt computes both in one pass if it has a kernel for the shape. gelu() then reads y
    /// before it is rounded to T. Otherwise this is the same as forward and gelu_forward.
    ///
    /// \pre shape().with_gelu
    void forward_gelu(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      TensorAddress<const T, 2> w,
                      VectorAddress<const T> bias,
                      TensorAddress<T, 2> y,
                      TensorAddress<T, 2> active,
                      VectorAddress<std::byte> workspace) const;

    /// Computes dx = (dy w) gelu'(before), where x = gelu(before) [rows, in]; see forward_gelu.
    ///
    /// \pre shape().with_gelu
    void backward_input_gelu(const device::Stream& stream,
                             TensorAddress<const T, 2> dy,
                             TensorAddress<const T, 2> w,
                             TensorAddress<const T, 2> before,
                             TensorAddress<T, 2> dx,
                             VectorAddress<std::byte> workspace) const;

    /// Computes dx = dy w.
    void backward_input(const device::Stream& stream,
                        TensorAddress<const T, 2> dy,
                        TensorAddress<const T, 2> w,
                        TensorAddress<T, 2> dx,
                        VectorAddress<std::byte> workspace) const;

    /// Computes dx = dy w or dx += dy w in float: one summand of a gradient through several tiles.
    ///
    /// \pre shape().is_tile
    void backward_input_sum(const device::Stream& stream,
                            TensorAddress<const T, 2> dy,
                            TensorAddress<const T, 2> w,
                            TensorAddress<float, 2> dx,
                            Accumulate accumulate,
                            VectorAddress<std::byte> workspace) const;

    /// Computes dw = dy^T x, stored or accumulated.
    void backward_weight(const device::Stream& stream,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         TensorAddress<float, 2> dw,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace) const;

    /// \pre packed_bytes() is not 0; `packed` is aligned to 64 bytes, here and in the products that read it
    void pack(const device::Stream& stream,
              Packing packing,
              TensorAddress<const T, 2> w,
              VectorAddress<std::byte> packed) const;

    /// \pre `packed` was written by `pack` with Packing::forward, by an object of the same `in` and `out`
    void forward_packed(const device::Stream& stream,
                        TensorAddress<const T, 2> x,
                        VectorAddress<const std::byte> packed,
                        VectorAddress<const T> bias,
                        TensorAddress<T, 2> y,
                        VectorAddress<std::byte> workspace) const;

    /// \pre `packed` was written by `pack` with Packing::backward_input, by an object of the same `in` and
    /// `out`
    void backward_input_packed(const device::Stream& stream,
                               TensorAddress<const T, 2> dy,
                               VectorAddress<const std::byte> packed,
                               TensorAddress<T, 2> dx,
                               VectorAddress<std::byte> workspace) const;

  private:
    bool is_packed(Packing packing, VectorAddress<const std::byte> packed) const;
    /// \param weight  in the form that the products read
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
