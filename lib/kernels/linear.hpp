/// The three matrix products of a linear layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// y[rows, out] = x[rows, in] w[out, in]^T (+ bias[out]).
struct LinearShape {
    std::int64_t rows, in, out;
    bool has_bias;
    bool is_tile = false;  ///< some rows of a weight: prepared for backward_input_sum as well
};

/// What a packed weight is good for: the roles of `in` and `out` swap between the two.
enum class Packing { forward, backward_input };

template <class T>
class LinearProducts;

/// One linear layer of a given shape, prepared once and executed many times.
///
/// A weight is packed into scratch just before each use, which pays even for one product; one that is used
/// several times in a row (the head, by chunks of rows) is packed once by `pack`.
///
/// Shapes:   x [rows, in]; w [out, in]; bias [out], empty without one; y, dy [rows, out]; dx [rows, in];
///           dw [out, in] float whatever T is
/// Numerics: sums in float. The bits of an element depend on its row of the left factor and on its column
///           of the right one only: not on the number of rows, the number of threads, or who packed the
///           weight.
/// Aliasing: outputs overlap nothing
/// Async:    on `stream`; arguments, workspace included, and this object must live until it has run
/// Errors:   Error{internal} when shapes or a workspace disagree with the prepared ones
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
    /// What `pack` writes; at most layout::Workspaces::packed_weight.
    std::int64_t packed_bytes(Packing packing) const noexcept;

    /// y = x w^T + bias
    void forward(const device::Stream& stream,
                 tensor::TensorRef<const T, 2> x,
                 tensor::TensorRef<const T, 2> w,
                 tensor::TensorRef<const T, 1> bias,
                 tensor::TensorRef<T, 2> y,
                 std::span<std::byte> workspace) const;

    /// dx = dy w
    void backward_input(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> dy,
                        tensor::TensorRef<const T, 2> w,
                        tensor::TensorRef<T, 2> dx,
                        std::span<std::byte> workspace) const;

    /// dx = dy w or dx += dy w in float: one summand of a gradient that comes through several tiles.
    ///
    /// \pre shape().is_tile
    void backward_input_sum(const device::Stream& stream,
                            tensor::TensorRef<const T, 2> dy,
                            tensor::TensorRef<const T, 2> w,
                            tensor::TensorRef<float, 2> dx,
                            Accumulate accumulate,
                            std::span<std::byte> workspace) const;

    /// dw = dy^T x, stored or added
    void backward_weight(const device::Stream& stream,
                         tensor::TensorRef<const T, 2> x,
                         tensor::TensorRef<const T, 2> dy,
                         tensor::TensorRef<float, 2> dw,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) const;

    /// \pre `packed`, here as in the products that read it, is aligned to 64 bytes
    void pack(const device::Stream& stream,
              Packing packing,
              tensor::TensorRef<const T, 2> w,
              std::span<std::byte> packed) const;

    /// `packed` was written by `pack` with Packing::forward, by an object of the same `in` and `out`.
    void forward_packed(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> x,
                        std::span<const std::byte> packed,
                        tensor::TensorRef<const T, 1> bias,
                        tensor::TensorRef<T, 2> y,
                        std::span<std::byte> workspace) const;

    /// `packed` was written by `pack` with Packing::backward_input, by an object of the same `in` and `out`.
    void backward_input_packed(const device::Stream& stream,
                               tensor::TensorRef<const T, 2> dy,
                               std::span<const std::byte> packed,
                               tensor::TensorRef<T, 2> dx,
                               std::span<std::byte> workspace) const;

  private:
    LinearShape shape_;
    std::unique_ptr<LinearProducts<T>> products_;
};

}  // namespace ziggurat::kernels
