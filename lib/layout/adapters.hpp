/// Adapters of low rank beside weights of products: their tensors, and the memory of their products.
///
/// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, section 4.1
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout/family.hpp"

namespace ziggurat::layout {

/// Names of the two factors beside `weight`: "layers.3.attention.q.lora_a" of "layers.3.attention.q.weight".
std::string lora_a_of(std::string_view weight);
std::string lora_b_of(std::string_view weight);

/// Whether a tensor of that name is one of the two.
bool is_of_adapter(std::string_view tensor);

/// Patterns of those names, for train.only.
std::vector<std::string> patterns_of_adapters();

/// What patterns of targets are held against: "attention.q" of "layers.3.attention.q.weight", for layers are
/// alike. Empty: no adapter lies beside a tensor of that name.
std::string_view target_name(std::string_view weight);

/// Whether `model` has an adapter beside a weight of that name, where that is of a product in a layer.
bool has_adapter(const spec::Model& model, std::string_view weight);

/// Adds the adapters that `model` asks for to `phase` of `unit`, a product that has its weights already.
///
/// A [rank, in] is normal with the variance of a uniform draw from +-1/sqrt(in), and B [out, rank] zero, so
/// that the model begins as what it adapts. Over the tensor axis, what lies along the cut of the weight is
/// cut, and the other factor's gradient is a sum: of columns (of x W^T) A, of rows B.
void add_adapters(const spec::Model& model, int tensor, Unit& unit, Phase& phase);

/// Scratch of the products of a phase's adapters, which lies before that of the products themselves.
class AdapterWorkspace {
  public:
    /// \pre the phase has adapters
    AdapterWorkspace(const Phase& phase,
                     std::int64_t lora_rank,
                     std::int64_t rows,
                     std::int64_t element_bytes);

    /// Columns of what all A make of the input.
    std::int64_t inner() const noexcept { return inner_; }

    // Offsets in bytes, each a multiple of 64.
    std::int64_t inner_begin() const noexcept { return 0; }         ///< [rows, inner()]
    std::int64_t one_begin() const noexcept { return one_begin_; }  ///< [rows, rank]: of one adapter
    std::int64_t wide_begin() const noexcept {
        return wide_begin_;
    }  ///< [rows, in] or [rows, columns of one]
    std::int64_t products_begin() const noexcept { return products_begin_; }

  private:
    std::int64_t inner_;
    std::int64_t one_begin_;
    std::int64_t wide_begin_;
    std::int64_t products_begin_;
};

}  // namespace ziggurat::layout
