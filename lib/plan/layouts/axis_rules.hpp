/// Rules of the deck for degrees of axes, as far as searches need them (deck/rules/rules_parallel.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Upper bound of the passes of layers in a step program (deck/rules/rules_train.cpp).
inline constexpr std::int64_t max_layer_passes = 65536;

/// True if `tensor` ranks can divide the heads and the MLP of the model.
inline bool can_divide_layers(const spec::Model& model, int tensor) {
    const std::int64_t kv = std::max<std::int64_t>(1, model.kv_heads);
    return model.heads % tensor == 0 && (kv % tensor == 0 || tensor % kv == 0) &&
           model.ffn_hidden % tensor == 0;
}

}  // namespace ziggurat::plan
