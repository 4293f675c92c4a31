/// Products in the forms that the ways of carrying out linear.hpp share; only linear.cpp, host/linear_* and
/// cuda/linear_* include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/linear.hpp"
#include "kernels/sibling.hpp"
#include "layout/host_workspaces.hpp"

namespace ziggurat::kernels {

/// The products of one layer, prepared for one kind of processor: what of them linear.cpp has to know.
template <class T>
class LinearProducts {
  public:
    virtual ~LinearProducts() = default;

    /// None where products read a weight as it lies.
    virtual std::int64_t packed_bytes(Packing packing) const noexcept = 0;
    /// Scratch of forward and backward_input.
    virtual std::int64_t scratch_bytes() const noexcept = 0;
    /// True if one pass computes the product and GELU, or the product and its gradient.
    virtual bool has_forward_gelu() const noexcept { return false; }
    virtual bool has_backward_gelu() const noexcept { return false; }
    /// Scratch of backward_weight.
    virtual std::int64_t weight_scratch_bytes() const noexcept = 0;
    /// What addresses of scratch and of packed weights are multiples of.
    virtual std::int64_t alignment() const noexcept = 0;
};

// Kernels of Linear. `weight` is packed for the product; where packed_bytes() is none, it is the weight [out,
// in] itself. Scratch is aligned.
template <class T>
void pack_weight(const device::Stream& stream,
                 Prepared<LinearProducts<T>> products,
                 Packing packing,
                 TensorAddress<const T, 2> w,
                 VectorAddress<std::byte> packed);
template <class T>
void linear_forward(const device::Stream& stream,
                    Prepared<LinearProducts<T>> products,
                    TensorAddress<const T, 2> x,
                    VectorAddress<const std::byte> weight,
                    VectorAddress<const T> bias,
                    TensorAddress<T, 2> y,
                    VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_input(const device::Stream& stream,
                           Prepared<LinearProducts<T>> products,
                           TensorAddress<const T, 2> dy,
                           VectorAddress<const std::byte> weight,
                           TensorAddress<T, 2> dx,
                           VectorAddress<std::byte> scratch);
template <class T>
void linear_forward_gelu(const device::Stream& stream,
                         Prepared<LinearProducts<T>> products,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> w,
                         VectorAddress<const T> bias,
                         TensorAddress<T, 2> y,
                         TensorAddress<T, 2> active,
                         VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_input_gelu(const device::Stream& stream,
                                Prepared<LinearProducts<T>> products,
                                TensorAddress<const T, 2> dy,
                                TensorAddress<const T, 2> w,
                                TensorAddress<const T, 2> before,
                                TensorAddress<T, 2> dx,
                                VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_input_sum(const device::Stream& stream,
                               Prepared<LinearProducts<T>> products,
                               TensorAddress<const T, 2> dy,
                               VectorAddress<const std::byte> weight,
                               TensorAddress<float, 2> dx,
                               Accumulate accumulate,
                               VectorAddress<std::byte> scratch);
template <class T>
void linear_backward_weight(const device::Stream& stream,
                            Prepared<LinearProducts<T>> products,
                            TensorAddress<const T, 2> x,
                            TensorAddress<const T, 2> dy,
                            TensorAddress<float, 2> dw,
                            Accumulate accumulate,
                            VectorAddress<std::byte> scratch);

namespace cuda {

/// Those of the GPU that `stream` belongs to, by cuBLASLt.
///
/// Errors: Error{resource} when the library cannot be started
template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const device::Stream& stream, const LinearShape& shape);

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
    /// \pre the shape is that of a tile
    virtual void backward_input_sum(
        const T* dy, const std::byte* packed, float* dx, Accumulate accumulate, std::byte* scratch) const = 0;
    virtual void backward_weight(
        const T* x, const T* dy, float* dw, Accumulate accumulate, std::byte* scratch) const = 0;

    std::int64_t alignment() const noexcept final { return layout::HostWorkspaces::alignment; }
};

/// Weight gradients are summed over runs of rows of this length at most: beyond it oneDNN splits the sum
/// among threads, and then their number shows in the bits.
inline constexpr std::int64_t max_rows_per_sum = layout::HostWorkspaces::rows_packed_at_once;

/// The length of all runs but the last.
constexpr std::int64_t rows_per_sum(std::int64_t rows) {
    const auto runs = (rows + max_rows_per_sum - 1) / max_rows_per_sum;
    return runs <= 1 ? rows : ((rows + runs - 1) / runs + 15) / 16 * 16;
}

/// The quickest products of T on this machine, for the threads of `stream`.
template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const device::Stream& stream, const LinearShape& shape);

/// Whether oneDNN's fast matrix products, whose bits depend on neither threads nor rows, exist for T here.
template <class T>
bool has_onednn_products();

/// Whether ours of bfloat16 are quicker than oneDNN's. Where the processor has matrix tiles, no. Where it
/// multiplies pairs quickly, yes: the products themselves are even, but oneDNN turns a weight at a quarter of
/// the rate of memory and asks for no gradient ahead. On processors that have matrix tiles (from Sapphire
/// Rapids on, as float16 tells), but whose virtual machine hides them, ours turn bfloat16 into floats: there
/// oneDNN reached 220 GFLOP/s and ours 380.
template <class T>
bool are_tiles_quicker();

/// Whether the tiles are compiled to vectors of 16 floats.
bool has_wide_tiles();

/// Whether the tiles of bfloat16 are compiled to products of pairs.
bool has_tiles_of_pairs();

template <class T>
std::unique_ptr<HostProducts<T>> make_onednn_products(const LinearShape& shape, int num_threads);

/// The same products in the tiles of tile/, for every machine.
template <class T>
std::unique_ptr<HostProducts<T>> make_tiled_products(const LinearShape& shape, int num_threads);

}  // namespace host
}  // namespace ziggurat::kernels
