#include "plan/short_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "layout/chunk_layout.hpp"
#include "plan/stage_kinds.hpp"

namespace ziggurat::plan {
namespace {

/// Half of the minimum number of built layers: enough to make the first and last layers insignificant.
constexpr std::int64_t least_layers = 8;
/// Weight from which half of these layers suffice.
constexpr std::int64_t heaviest = 64;
constexpr std::int64_t chunks_of_search = 512;
/// Maximum of layer passes through all stages of a pipeline that are built; a search builds a quarter.
constexpr std::int64_t most_passes_of_pipeline = 2048;
/// Number of tiles built for a weight with more than most_tiles.
constexpr int tiles_of_many = 32;

void cut_into_fewer_tiles(spec::RunSpec& spec) {
    for (auto& rule : spec.tiers.tiles) {
        rule.out = rule.out > most_tiles ? tiles_of_many : rule.out;
    }
}

/// Returns the number of layers of a stage up to which all are built.
///
/// It assumes the numbers of stages and micro-batches that are usually built to represent the others.
std::int64_t most_layers_of_stage(const spec::RunSpec& spec, std::int64_t weight, Size size) {
    const auto& parallel = spec.parallel;
    const auto stages = std::min(parallel.stages, least_planned_stages);
    const auto micro_batches = std::min(spec.train.micro_batches, enough_micro_batches(parallel));
    const auto passes = size == Size::of_plan ? most_passes_of_pipeline : most_passes_of_pipeline / 4;
    const auto least = size == Size::of_plan ? least_layers / 2 : least_layers / 4;
    return std::max(2 * least, passes / (stages * micro_batches * weight));
}

LayerSample fewer_layers(const spec::RunSpec& spec, Size size) {
    const std::int64_t stages = spec.parallel.stages;
    const auto weight = weight_of_layer(spec);
    const auto least = weight < heaviest ? least_layers : least_layers / 2;
    auto most = std::max(2 * least, most_layers / weight);
    if (stages > 1) {
        most = std::min(most, most_layers_of_stage(spec, weight, size));
    }
    return spec.model.layers <= most * stages ? LayerSample{spec} : LayerSample{spec, most / 2 * stages};
}

}  // namespace

std::int64_t chunk_elements(const spec::RunSpec& spec) {
    return spec.tiers.chunk_elements > 0 ? spec.tiers.chunk_elements : layout::ChunkLayout::usual_elements;
}

std::int64_t enough_micro_batches(const spec::Parallel& parallel) {
    return 2 * parallel.stages * parallel.chunks_per_stage + 2;
}

ShortRun shortened(const spec::RunSpec& spec, Size size) {
    if (size == Size::whole) {
        return {spec, LayerSample{spec}, spec.tiers.tiles};
    }
    auto with_fewer_tiles = spec;
    cut_into_fewer_tiles(with_fewer_tiles);
    auto layers = fewer_layers(with_fewer_tiles, size);
    auto made = layers.of(with_fewer_tiles);
    const auto elements = most_updated_elements(made);
    if (elements > most_chunks * chunk_elements(spec)) {
        const auto most = size == Size::of_plan ? most_chunks : chunks_of_search;
        made.tiers.chunk_elements = chunk_elements(spec);
        while (elements > most * made.tiers.chunk_elements) {
            made.tiers.chunk_elements *= 2;
        }
    }
    return {std::move(made), std::move(layers), std::move(with_fewer_tiles.tiers.tiles)};
}

std::string how_exact(const ShortRun& built, const spec::RunSpec& whole, int built_stages) {
    std::vector<std::string> parts;
    if (built_stages < whole.parallel.stages) {
        parts.push_back(fmt::format("from {} of {} stages", built_stages, whole.parallel.stages));
    }
    if (built.spec.model.layers < whole.model.layers) {
        parts.push_back(
            fmt::format("from {} of {} layers", built.spec.model.layers, format_grouped(whole.model.layers)));
    }
    if (built.larger_tiles != whole.tiers.tiles) {
        const auto most = std::ranges::max(whole.tiers.tiles, {}, &spec::TileRule::out).out;
        parts.push_back(
            fmt::format("with weights in {} tiles instead of {}", tiles_of_many, format_grouped(most)));
    }
    if (chunk_elements(built.spec) != chunk_elements(whole)) {
        parts.push_back(fmt::format("with chunks of {} elements instead of {}",
                                    format_grouped(chunk_elements(built.spec)),
                                    format_grouped(chunk_elements(whole))));
    }
    return parts.empty() ? ""
                         : fmt::format("{}: may be up to a fifth too high", fmt::join(parts, " and "));
}

}  // namespace ziggurat::plan
