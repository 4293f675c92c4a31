/// Data ranks: those of a node, and their place among the axes.
#pragma once

#include <algorithm>
#include <iterator>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the number of data ranks among `ranks` consecutive ranks, such as those of a node.
inline int data_ranks_among(const Parallel& parallel, int ranks) {
    for (const Axis faster : parallel.order) {
        if (faster == Axis::data) {
            break;
        }
        // Divided one by one: the product of invalid degrees may overflow an int. Context ranks are data
        // ranks.
        ranks /= std::max(1, faster == Axis::tensor     ? parallel.tensor_ranks()
                             : faster == Axis::pipeline ? parallel.stages
                                                        : 1);
    }
    return std::clamp(ranks, 1, std::max(1, parallel.data));
}

/// True if context ranks are directly before data ranks.
///
/// State is sharded over both together, as one axis.
inline bool is_context_next_to_data(const Parallel& parallel) {
    const auto& order = parallel.order;
    const auto context = std::ranges::find(order, Axis::context);
    return context != order.end() && std::next(context) != order.end() && *std::next(context) == Axis::data;
}

/// Returns the consecutive data ranks of a node, or of one of debug.nodes.
inline int data_ranks_of_node(const RunSpec& run) {
    const auto& parallel = run.parallel;
    const int emulated = run.debug.nodes;
    return data_ranks_among(parallel, emulated > 0 ? parallel.ranks / emulated : parallel.ranks_per_node);
}

}  // namespace ziggurat::spec
