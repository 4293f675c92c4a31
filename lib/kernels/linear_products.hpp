/// Products in the form that both ways of carrying out linear.hpp share; only linear.cpp and host/linear_*
/// include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/linear.hpp"
#include "layout/host_workspaces.hpp"

namespace ziggurat::kernels {

/// The products of one layer on plain addresses. Scratch is aligned to 64 bytes.
template <class T>
class LinearProducts {
  public:
    virtual ~LinearProducts() = default;

    virtual std::int64_t packed_bytes(Packing packing) const noexcept = 0;
    /// Scratch of forward and backward_input.
    virtual std::int64_t scratch_bytes() const noexcept = 0;
    /// Scratch of backward_weight.
    virtual std::int64_t weight_scratch_bytes() const noexcept = 0;

    virtual void pack(Packing packing, const T* w, std::byte* packed) const = 0;
    virtual void forward(
        const T* x, const std::byte* packed, const T* bias, T* y, std::byte* scratch) const = 0;
    virtual void backward_input(const T* dy, const std::byte* packed, T* dx, std::byte* scratch) const = 0;
    /// \pre the shape is that of a tile
    virtual void backward_input_sum(
        const T* dy, const std::byte* packed, float* dx, Accumulate accumulate, std::byte* scratch) const = 0;
    virtual void backward_weight(
        const T* x, const T* dy, float* dw, Accumulate accumulate, std::byte* scratch) const = 0;
};

/// Weight gradients are summed over runs of rows of this length at most: beyond it oneDNN splits the sum
/// among threads, and then their number shows in the bits.
inline constexpr std::int64_t max_rows_per_sum = layout::HostWorkspaces::rows_packed_at_once;

/// The length of all runs but the last.
constexpr std::int64_t rows_per_sum(std::int64_t rows) {
    const auto runs = (rows + max_rows_per_sum - 1) / max_rows_per_sum;
    return runs <= 1 ? rows : ((rows + runs - 1) / runs + 15) / 16 * 16;
}

namespace host {

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
std::unique_ptr<LinearProducts<T>> make_onednn_products(const LinearShape& shape, int num_threads);

/// The same products in the tiles of tile/, for every machine.
template <class T>
std::unique_ptr<LinearProducts<T>> make_tiled_products(const LinearShape& shape, int num_threads);

}  // namespace host
}  // namespace ziggurat::kernels
