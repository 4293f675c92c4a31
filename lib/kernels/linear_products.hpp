/// Interface of the matrix products that linear.hpp uses. Each processor implements it.
///
/// Only linear.cpp, product_tuner.cpp, host/linear_* and cuda/linear_* include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/launch/kernel_backend.hpp"
#include "kernels/linear.hpp"
#include "kernels/product_tuner.hpp"
#include "layout/host_workspaces.hpp"

namespace ziggurat::kernels {

/// The products of one layer, prepared for one kind of processor, as linear.cpp uses them.
template <class T>
class LinearProducts {
  public:
    virtual ~LinearProducts() = default;

    /// Returns the bytes of a packed weight; 0 if products read weights in place.
    virtual std::int64_t packed_bytes(Packing packing) const noexcept = 0;
    /// Returns the scratch of forward and backward_input.
    virtual std::int64_t scratch_bytes() const noexcept = 0;
    /// True if one pass computes the product and GELU, or the product and its gradient.
    virtual bool has_forward_gelu() const noexcept { return false; }
    virtual bool has_backward_gelu() const noexcept { return false; }
    /// True if the product adds a matrix to its sums before it rounds them.
    virtual bool has_forward_added() const noexcept { return false; }
    /// Returns the scratch of backward_weight.
    virtual std::int64_t weight_scratch_bytes() const noexcept = 0;
    /// Returns the alignment of scratch and of packed weights.
    virtual std::int64_t alignment() const noexcept = 0;
};

// Kernels of Linear. `weight` is packed for the product; if packed_bytes() is 0, it is the weight [out, in].
// Scratch is aligned.
template <class T>
void pack_weight(const device::Stream& stream,
                 PreparedArgument<LinearProducts<T>> products,
                 Packing packing,
                 TensorAddress<const T, 2> w,
                 VectorAddress<std::byte> packed);
template <class T>
void linear_forward(const device::Stream& stream,
                    PreparedArgument<LinearProducts<T>> products,
                    TensorAddress<const T, 2> x,
                    VectorAddress<const std::byte> weight,
                    VectorAddress<const T> bias,
                    TensorAddress<T, 2> y,
                    VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_input(const device::Stream& stream,
                           PreparedArgument<LinearProducts<T>> products,
                           TensorAddress<const T, 2> dy,
                           VectorAddress<const std::byte> weight,
                           TensorAddress<T, 2> dx,
                           VectorAddress<std::byte> scratch);
template <class T>
void linear_forward_added(const device::Stream& stream,
                          PreparedArgument<LinearProducts<T>> products,
                          TensorAddress<const T, 2> x,
                          TensorAddress<const T, 2> w,
                          VectorAddress<const T> bias,
                          TensorAddress<const T, 2> addend,
                          TensorAddress<T, 2> y,
                          VectorAddress<std::byte> scratch);
template <class T>
void linear_forward_gelu(const device::Stream& stream,
                         PreparedArgument<LinearProducts<T>> products,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> w,
                         VectorAddress<const T> bias,
                         TensorAddress<T, 2> y,
                         TensorAddress<T, 2> active,
                         VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_input_gelu(const device::Stream& stream,
                                PreparedArgument<LinearProducts<T>> products,
                                TensorAddress<const T, 2> dy,
                                TensorAddress<const T, 2> w,
                                TensorAddress<const T, 2> before,
                                TensorAddress<T, 2> dx,
                                VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_input_sum(const device::Stream& stream,
                               PreparedArgument<LinearProducts<T>> products,
                               TensorAddress<const T, 2> dy,
                               VectorAddress<const std::byte> weight,
                               TensorAddress<float, 2> dx,
                               Accumulate accumulate,
                               VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_weight(const device::Stream& stream,
                            PreparedArgument<LinearProducts<T>> products,
                            TensorAddress<const T, 2> x,
                            TensorAddress<const T, 2> dy,
                            TensorAddress<float, 2> dw,
                            Accumulate accumulate,
                            VectorAddress<std::byte> scratch);

namespace cuda {

/// Prepares products by cuBLASLt on the GPU of `stream`.
///
/// Errors: Error{resource} if the library cannot be started
template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const device::Stream& stream, const LinearShape& shape);

/// Returns the tuner of the products on the GPU of `stream`.
///
/// Errors: Error{resource} if the library cannot be started
std::shared_ptr<ProductTuner> product_tuner(const device::Stream& stream);

}  // namespace cuda
namespace host {

/// The products of the host, on plain addresses.
template <class T>
class HostProducts : public LinearProducts<T> {
  public:
    virtual void pack(Packing packing, const T* w, std::byte* packed) const = 0;
    virtual void forward(
        const T* x, const std::byte* packed, const T* bias, T* y, std::byte* scratch) const = 0;
    virtual void backward_input(const T* dy, const std::byte* packed, T* dx, std::byte* scratch) const = 0;
    /// \pre the shape is a tile's
    virtual void backward_input_sum(
        const T* dy, const std::byte* packed, float* dx, Accumulate accumulate, std::byte* scratch) const = 0;
    virtual void backward_weight(
        const T* x, const T* dy, float* dw, Accumulate accumulate, std::byte* scratch) const = 0;

    std::int64_t alignment() const noexcept final { return layout::HostWorkspaces::alignment; }
};

/// Maximum number of rows in one sum of a weight's gradient.
///
/// For more rows oneDNN splits the sum among threads, and their number would change the bits.
inline constexpr std::int64_t max_rows_per_sum = layout::HostWorkspaces::rows_packed_at_once;

/// Returns the number of rows of all sums except the last.
constexpr std::int64_t rows_per_sum(std::int64_t rows) {
    const auto runs = (rows + max_rows_per_sum - 1) / max_rows_per_sum;
    return runs <= 1 ? rows : ((rows + runs - 1) / runs + 15) / 16 * 16;
}

/// Prepares the fastest products of T on this machine, for the threads of `stream`.
template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const device::Stream& stream, const LinearShape& shape);

/// True if oneDNN has fast products of T here whose bits do not depend on threads or rows.
template <class T>
bool has_onednn_products();

/// True if the tiled products of bfloat16 are faster than oneDNN's.
///
/// False on processors with matrix tiles (AMX). True on processors with fast products of pairs: the products
/// have equal speed, but oneDNN transposes a weight at a quarter of the memory bandwidth and does not
/// prefetch gradients. Some virtual machines hide the matrix tiles of their processor (from Sapphire Rapids
/// on, detected by float16). There the tiled products convert bfloat16 to floats: oneDNN reached 220 GFLOP/s
/// and they 380.
template <class T>
bool are_tiles_quicker();

/// True if the tiles are compiled to vectors of 16 floats.
bool has_wide_tiles();

/// True if the tiles of bfloat16 are compiled to products of pairs.
bool has_tiles_of_pairs();

template <class T>
std::unique_ptr<HostProducts<T>> make_onednn_products(const LinearShape& shape, int num_threads);

/// Prepares the same products with the tiles of tile/, which run on every machine.
template <class T>
std::unique_ptr<HostProducts<T>> make_tiled_products(const LinearShape& shape, int num_threads);

/// Prepares the forward product of few rows, which reads the weight one time, in place.
template <class T>
std::unique_ptr<HostProducts<T>> make_in_place_products(const LinearShape& shape);

}  // namespace host
}  // namespace ziggurat::kernels
