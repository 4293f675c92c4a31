#include "layout/stage_layers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "base/contract.hpp"
#include "layout/counts.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::layout {
namespace {

using Costs = std::span<const std::int64_t>;

std::int64_t sum(Costs costs) {
    return std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
}

/// Returns, by stage, the smallest first layer such that no stage from it on costs more than `max`.
///
/// Every stage has at least one layer; the last entry is the number of layers. Empty if the stages cannot
/// hold all layers within that cost.
std::optional<std::vector<std::size_t>> min_begins(Costs layers,
                                                   std::int64_t head,
                                                   int stages,
                                                   std::int64_t max) {
    std::vector<std::size_t> begins(stages + 1, layers.size());
    for (std::size_t stage = stages; stage-- > 0;) {
        auto begin = begins[stage + 1];
        std::int64_t cost = begin == layers.size() ? head : 0;
        do {
            cost += layers[--begin];
        } while (begin > stage && cost + layers[begin - 1] <= max);
        if (cost > max) {
            return std::nullopt;
        }
        begins[stage] = begin;
    }
    return begins.front() == 0 ? std::optional{begins} : std::nullopt;
}

/// Returns the minimum, over all distributions, of the cost of the most expensive stage.
std::int64_t min_max(Costs layers, std::int64_t head, int stages) {
    std::int64_t too_little = 0;
    std::int64_t enough = sum(layers) + head;
    while (enough - too_little > 1) {
        const auto middle = too_little + (enough - too_little) / 2;
        (min_begins(layers, head, stages, middle) ? enough : too_little) = middle;
    }
    return enough;
}

/// Gives each position its minimum of layers, then each further layer to the position of smallest cost.
std::vector<std::int64_t> filled(std::vector<std::int64_t> costs,
                                 std::int64_t layer,
                                 std::int64_t layers,
                                 std::int64_t min) {
    std::vector<std::int64_t> counts(costs.size(), min);
    for (auto& cost : costs) {
        cost += min * layer;
    }
    for (auto left = layers - min * std::ssize(costs); left > 0; --left) {
        const auto position = std::min_element(costs.begin(), costs.end());
        *position += layer;
        ++counts[position - costs.begin()];
    }
    return counts;
}

/// Returns the costs of one token, by unit.
std::vector<std::int64_t> costs_of_units(const spec::RunSpec& run) {
    const auto flops = flops_per_token_by_unit(run);
    std::vector<std::int64_t> costs;
    for (std::size_t unit = 0; unit < flops.size(); ++unit) {
        const bool is_layer = unit > 0 && unit + 1 < flops.size();
        const bool is_redone = is_layer && run.recompute.kind == spec::RecomputeKind::full;
        // Recomputation repeats forward, which is a third of the flops.
        costs.push_back(
            std::max<std::int64_t>(is_layer ? 1 : 0, std::llround(flops[unit] * (is_redone ? 4.0 / 3 : 1))));
    }
    return costs;
}

}  // namespace

std::vector<std::int64_t> spread_layers(Costs layers, std::int64_t head, int stages) {
    ZG_EXPECTS(stages >= 1 && std::ssize(layers) >= stages);
    const auto max = min_max(layers, head, stages);
    const auto begins = min_begins(layers, head, stages, max);
    ZG_ENSURES(begins.has_value());
    std::vector<std::int64_t> counts;
    std::size_t begin = 0;
    auto left = sum(layers) + head;
    for (int stage = 0; stage < stages; ++stage) {
        const int others = stages - stage - 1;
        const auto last = layers.size() - static_cast<std::size_t>(others);
        const auto share = left / (others + 1);
        auto end = begin + 1;
        auto cost = layers[begin];
        while (
            end < last && cost + layers[end] <= max &&
            (end < (*begins)[stage + 1] || std::abs(cost + layers[end] - share) <= std::abs(cost - share))) {
            cost += layers[end++];
        }
        counts.push_back(static_cast<std::int64_t>(end - begin));
        left -= cost;
        begin = end;
    }
    ZG_ENSURES(begin == layers.size());
    return counts;
}

std::vector<std::int64_t> spread_layers_over_chunks(
    Costs layers, std::int64_t head, int stages, int chunks, bool turns_back) {
    ZG_EXPECTS(stages >= 1 && chunks >= 1 && std::ssize(layers) >= std::int64_t{stages} * chunks);
    const auto layer = std::max<std::int64_t>(1, sum(layers) / std::ssize(layers));
    std::vector<std::int64_t> besides(stages);
    besides[spec::stage_of(stages * chunks - 1, stages, turns_back)] = head;
    const auto of_stage = filled(besides, layer, std::ssize(layers), chunks);
    std::vector<std::int64_t> counts(stages * static_cast<std::size_t>(chunks));
    for (std::size_t stage = 0; stage < of_stage.size(); ++stage) {
        std::vector<std::int64_t> of_chunks(chunks);
        of_chunks.back() = besides[stage];
        const auto of_chunk = filled(of_chunks, layer, of_stage[stage], 1);
        for (std::size_t chunk = 0; chunk < of_chunk.size(); ++chunk) {
            const auto v =
                spec::virtual_stage(static_cast<int>(stage), static_cast<int>(chunk), stages, turns_back);
            counts[v] = of_chunk[chunk];
        }
    }
    return counts;
}

std::vector<std::int64_t> stage_layers(const spec::RunSpec& run) {
    const auto& parallel = run.parallel;
    if (!parallel.stage_layers.empty()) {
        return parallel.stage_layers;
    }
    if (parallel.stages * parallel.chunks_per_stage == 1) {
        return {run.model.layers};
    }
    const auto costs = costs_of_units(run);
    const Costs layers{costs.data() + 1, costs.size() - 2};
    return parallel.chunks_per_stage == 1
               ? spread_layers(layers, costs.back(), parallel.stages)
               : spread_layers_over_chunks(layers, costs.back(), parallel.stages, parallel.chunks_per_stage,
                                           spec::turns_back(parallel));
}

}  // namespace ziggurat::layout
