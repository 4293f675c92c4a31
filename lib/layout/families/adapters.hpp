/// LoRA adapters of linear layers: their tensors, and the scratch memory of their products.
///
/// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, section 4.1
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// Returns the names of the two factors of `weight`.
///
/// Example: "layers.3.attention.q.lora_a" for "layers.3.attention.q.weight".
std::string lora_a_of(std::string_view weight);
std::string lora_b_of(std::string_view weight);

/// Returns true if a tensor of that name is an adapter matrix.
bool is_of_adapter(std::string_view tensor);
constexpr bool is_of_adapter(Role role) {
    return role == Role::lora_a || role == Role::lora_b;
}

/// Returns the patterns that match all adapter matrices, for train.only.
std::vector<std::string> patterns_of_adapters();

/// Returns the name that target patterns match: "attention.q" for "layers.3.attention.q.weight".
///
/// All layers share it. Empty if a tensor of that name cannot have an adapter.
std::string_view target_name(std::string_view weight);

/// Returns true if `model` adds an adapter to the weight of that name.
///
/// \pre it is the weight of a linear layer
bool has_adapter(const spec::Model& model, std::string_view weight);

/// Adds the adapters that `model` configures to `phase` of `unit`, which already has its weights.
///
/// A [rank, in] is normal with the variance of a uniform distribution on +-1/sqrt(in). B [out, rank] is zero,
/// so the adapted model starts equal to its base. On the tensor axis, the factor along the sharded dimension
/// of the weight is sharded. The gradient of the other factor is a partial sum: of A for column-parallel
/// weights (x W^T), of B for row-parallel weights. On a grid, see UnitBuilder::divide_over_grid().
void add_adapters(const spec::Model& model, const TensorSplit& split, Unit& unit, Phase& phase);

/// Scratch of the products of a phase's adapters, placed before the scratch of the main products.
class AdapterWorkspace {
  public:
    /// \pre the phase has adapters
    AdapterWorkspace(const Phase& phase,
                     std::int64_t lora_rank,
                     std::int64_t rows,
                     std::int64_t element_bytes);

    /// Returns the number of columns of the product of the input with all A.
    std::int64_t inner() const noexcept { return inner_; }

    // Offsets in bytes, each a multiple of 64.
    std::int64_t inner_begin() const noexcept { return 0; }         ///< [rows, inner()]
    std::int64_t one_begin() const noexcept { return one_begin_; }  ///< [rows, rank]: one adapter
    /// [rows, in] or [rows, columns of one adapter]
    std::int64_t wide_begin() const noexcept { return wide_begin_; }
    std::int64_t products_begin() const noexcept { return products_begin_; }

  private:
    std::int64_t inner_;
    std::int64_t one_begin_;
    std::int64_t wide_begin_;
    std::int64_t products_begin_;
};

}  // namespace ziggurat::layout
