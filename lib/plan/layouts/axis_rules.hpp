/// Rules of the deck for degrees of axes, as far as searches need them (deck/rules/rules_parallel.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "layout/context/context_rows.hpp"
#include "spec/data_ranks.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Upper bound of the passes of layers in a step program (deck/rules/rules_train.cpp).
inline constexpr std::int64_t max_layer_passes = 65536;

/// Minimum number of positions of a context rank in searches.
///
/// With shorter parts, collectives take longer than the attention that they divide.
inline constexpr std::int64_t min_positions_of_rank = 2048;

/// True if the run's context ranks can divide a sequence, and have positions enough for it to pay.
inline bool can_share_sequences(const spec::RunSpec& run) {
    const auto blocks = layout::context_blocks(run.parallel);
    return run.parallel.context == 1 ||
           (spec::is_context_next_to_data(run.parallel) && run.data.seq % blocks == 0 &&
            run.data.seq / run.parallel.context >= min_positions_of_rank);
}

/// True if `tensor` ranks can divide the heads and the MLP of the model.
inline bool can_divide_layers(const spec::Model& model, int tensor) {
    const std::int64_t kv = std::max<std::int64_t>(1, model.kv_heads);
    return model.heads % tensor == 0 && (kv % tensor == 0 || tensor % kv == 0) &&
           model.ffn_hidden % tensor == 0;
}

}  // namespace ziggurat::plan
