/// The matrix products of LoRA adapters of a weight; only bind_linear.cpp includes it.
#pragma once

#include <vector>

#include "layout/families/adapters.hpp"
#include "model/operands.hpp"

namespace ziggurat::model {

/// Adapters of one phase with their operands bound.
///
/// One product multiplies x with all A. The product with each B is added only to the columns of its weight.
///
/// Source:   Hu et al., "LoRA", 2021, section 4.1: y += f (x A^T) B^T with f = alpha / rank. Therefore, with
///           dy and u = f x A^T: dB = dy^T u, du = f dy B, dA = du^T x, dx += du A
/// Shapes:   x, dx [rows, in]; y, dy [rows, out]; A [adapters * rank, in]; B [columns of all adapters, rank]
/// Numerics: u, du and each summand are rounded to the compute type once. Gradients compute u and du again,
///           so no activations are saved for them
template <class T>
class Adapters {
  public:
    /// \pre the phase has adapters
    Adapters(Binder<T>& binder, const layout::Phase& phase, Operands& use, std::int64_t rows);

    /// y += f (x A^T) B^T
    void forward(TensorAddress<const T, 2> x, TensorAddress<T, 2> y) const;
    /// dx += f (dy B) A
    void backward_input(TensorAddress<const T, 2> dy, TensorAddress<T, 2> dx) const;
    /// Computes dA and dB, and stores or accumulates them.
    void backward_weight(TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         TensorAddress<float, 2> d_a,
                         TensorAddress<float, 2> d_b,
                         kernels::Accumulate accumulate) const;

    // The parts of these on a grid of tensor ranks, where u and du are sums over ranks.
    /// u = f x A^T
    void project_input(TensorAddress<const T, 2> x, TensorAddress<T, 2> u) const;
    /// y += u B^T
    void add_output(TensorAddress<const T, 2> u, TensorAddress<T, 2> y) const;
    /// du = f dy B
    void project_gradient(TensorAddress<const T, 2> dy, TensorAddress<T, 2> du) const;
    /// dx += du A
    void add_input_gradient(TensorAddress<const T, 2> du, TensorAddress<T, 2> dx) const;
    /// dA = du^T x and dB = dy^T u
    void weight_gradients(TensorAddress<const T, 2> x,
                          TensorAddress<const T, 2> dy,
                          TensorAddress<const T, 2> u,
                          TensorAddress<const T, 2> du,
                          TensorAddress<float, 2> d_a,
                          TensorAddress<float, 2> d_b,
                          kernels::Accumulate accumulate) const;

  private:
    struct AdapterPair {
        layout::Adapter position;
        std::int64_t first_row = 0;  ///< first row of this adapter's B in the joined B
        const kernels::Linear<T>* product = nullptr;
    };

    template <class E>
    TensorAddress<E, 2> rows_of_b(TensorAddress<E, 2> b, const AdapterPair& one) const;
    TensorAddress<T, 2> wide(std::int64_t columns) const;
    std::int64_t first_inner(std::size_t k) const { return static_cast<std::int64_t>(k) * rank_; }
    /// Returns the columns of `matrix` for the weight of `one`; copied to wide() unless all columns are.
    TensorAddress<const T, 2> columns_of(TensorAddress<const T, 2> matrix, const AdapterPair& one) const;
    /// Returns the part of u for adapter `k`; copied to one_ unless it is all of u.
    TensorAddress<const T, 2> part_of_inner(TensorAddress<const T, 2> u, std::size_t k) const;
    /// Overwrites the part of `into` for adapter `k` with f dy B.
    void project_columns(TensorAddress<const T, 2> dy, std::size_t k, TensorAddress<T, 2> into) const;

    device::Stream stream_;
    std::int64_t rows_;
    std::int64_t rank_;
    float factor_;
    std::vector<AdapterPair> adapters_;
    const kernels::Linear<T>* product_of_a_;
    TensorAddress<const T, 2> a_;
    TensorAddress<const T, 2> b_;
    TensorAddress<T, 2> inner_;  ///< [rows, adapters * rank]
    TensorAddress<T, 2> one_;    ///< [rows, rank]
    VectorAddress<std::byte> wide_;
    VectorAddress<std::byte> scratch_;
};

}  // namespace ziggurat::model
