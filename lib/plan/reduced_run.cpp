#include "plan/reduced_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/round_up.hpp"
#include "base/text/units.hpp"
#include "layout/chunk_layout.hpp"
#include "plan/stage_kinds.hpp"

namespace ziggurat::plan {
namespace {

/// Half of the minimum number of built layers: enough to make the first and last layers insignificant.
constexpr std::int64_t min_layers = 8;
/// Weight from which half of these layers suffice.
constexpr std::int64_t heaviest = 64;
constexpr std::int64_t chunks_of_search = 512;
/// Micro-batches of a step by layer for which max_layers holds; with more, fewer layers are built.
constexpr std::int64_t microbatches_of_all_layers = 4;
/// Maximum of layer passes through all stages of a pipeline that are built; a search builds a quarter.
constexpr std::int64_t max_passes_of_pipeline = 2048;
/// Number of tiles built for a weight with more than max_tiles.
constexpr int tiles_of_many = 32;

void cut_into_fewer_tiles(spec::RunSpec& spec) {
    for (auto& rule : spec.tiers.tiles) {
        rule.out = rule.out > max_tiles ? tiles_of_many : rule.out;
    }
}

/// Returns the number of layers of a stage up to which all are built.
///
/// It assumes the numbers of stages and micro-batches that are usually built to represent the others.
std::int64_t max_layers_of_stage(const spec::RunSpec& spec, std::int64_t weight, Size size) {
    const auto& parallel = spec.parallel;
    const auto stages = std::min(parallel.stages, min_planned_stages);
    const auto micro_batches = enough_micro_batches(spec);
    if (size == Size::of_estimate) {
        return min_layers / 2;
    }
    const auto passes = size == Size::of_plan ? max_passes_of_pipeline : max_passes_of_pipeline / 4;
    const auto min = size == Size::of_plan ? min_layers / 2 : min_layers / 4;
    return std::max(2 * min, passes / (stages * micro_batches * weight));
}

RepresentativeLayers fewer_layers(const spec::RunSpec& spec, Size size) {
    const std::int64_t stages = spec.parallel.stages;
    const auto weight = weight_of_layer(spec);
    const auto min = weight < heaviest ? min_layers : min_layers / 2;
    // By layer, all micro-batches are built.
    const auto more = spec.train.is_by_layer()
                          ? divide_up(spec.train.micro_batches, microbatches_of_all_layers)
                          : std::int64_t{1};
    auto max = size == Size::of_estimate ? 2 * min : std::max(2 * min, max_layers / (weight * more));
    if (stages > 1) {
        max = std::min(max, max_layers_of_stage(spec, weight, size));
    }
    return spec.model.layers <= max * stages ? RepresentativeLayers{spec}
                                             : RepresentativeLayers{spec, max / 2 * stages};
}

}  // namespace

std::int64_t chunk_elements(const spec::RunSpec& spec) {
    return spec.tiers.chunk_elements > 0 ? spec.tiers.chunk_elements : layout::ChunkLayout::usual_elements;
}

std::int64_t enough_micro_batches(const spec::RunSpec& spec) {
    const auto& parallel = spec.parallel;
    const std::int64_t enough = 2 * parallel.stages * parallel.chunks_per_stage + 2;
    return spec.train.is_by_layer() ? spec.train.micro_batches : std::min(spec.train.micro_batches, enough);
}

ReducedRun shortened(const spec::RunSpec& spec, Size size) {
    if (size == Size::whole) {
        return {spec, RepresentativeLayers{spec}, spec.tiers.tiles};
    }
    auto with_fewer_tiles = spec;
    cut_into_fewer_tiles(with_fewer_tiles);
    auto layers = fewer_layers(with_fewer_tiles, size);
    auto made = layers.of(with_fewer_tiles);
    if (!layers.is_whole()) {
        made.tiers.movement = spec::Movement::fixed;  // fewer layers leave more memory free for chunks
    }
    const auto elements = max_updated_elements(made);
    if (elements > max_chunks * chunk_elements(spec)) {
        const auto max = size == Size::of_plan ? max_chunks : chunks_of_search;
        made.tiers.chunk_elements = chunk_elements(spec);
        while (elements > max * made.tiers.chunk_elements) {
            made.tiers.chunk_elements *= 2;
        }
    }
    return {std::move(made), std::move(layers), std::move(with_fewer_tiles.tiers.tiles)};
}

namespace {

/// Returns the bound of the error of a reduced plan.
///
/// Stages that are represented need no more than those that represent them. Sums of state and activations are
/// exact if all layers are equal, apart from shares of tiers, which are rounded to chunks. Holes between
/// buffers have the limits of schedule/place.
const char* error_bound(const ReducedRun& built, const spec::RunSpec& whole) {
    if (built.larger_tiles != whole.tiers.tiles || !built.layers.are_identical()) {
        return "may be up to a fifth too high";
    }
    const bool has_larger_chunks = chunk_elements(built.spec) != chunk_elements(whole);
    return built.layers.is_whole() && !has_larger_chunks
               ? "no other stage needs more"
               : "may be up to 3 % too high on the device, and a fifth on the host";
}

}  // namespace

std::string accuracy_note(const ReducedRun& built, const spec::RunSpec& whole, int built_stages) {
    std::vector<std::string> parts;
    if (built_stages < whole.parallel.stages) {
        parts.push_back(fmt::format("from {} of {} stages", built_stages, whole.parallel.stages));
    }
    if (built.spec.model.layers < whole.model.layers) {
        parts.push_back(
            fmt::format("from {} of {} layers", built.spec.model.layers, format_grouped(whole.model.layers)));
    }
    if (built.larger_tiles != whole.tiers.tiles) {
        const auto max = std::ranges::max(whole.tiers.tiles, {}, &spec::TileRule::out).out;
        parts.push_back(
            fmt::format("with weights in {} tiles instead of {}", tiles_of_many, format_grouped(max)));
    }
    if (chunk_elements(built.spec) != chunk_elements(whole)) {
        parts.push_back(fmt::format("with chunks of {} elements instead of {}",
                                    format_grouped(chunk_elements(built.spec)),
                                    format_grouped(chunk_elements(whole))));
    }
    return parts.empty() ? "" : fmt::format("{}: {}", fmt::join(parts, " and "), error_bound(built, whole));
}

}  // namespace ziggurat::plan
