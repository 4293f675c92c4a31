#include "plan/short_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/tensors.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::plan {
namespace {

/// What is built of more: half of them, enough that the first and the last layers count little.
constexpr std::int64_t least_layers = 8;
/// Of layers with this weight or more, half of them have to do.
constexpr std::int64_t heaviest = 64;
/// Segments of a layer that take as many ops as a layer without tiles.
constexpr std::int64_t segments_of_plain = 8;
constexpr std::int64_t chunks_of_search = 512;
/// Of a weight in more than most_tiles.
constexpr int tiles_of_many = 32;

void cut_into_fewer_tiles(spec::RunSpec& spec) {
    for (auto& rule : spec.tiers.tiles) {
        rule.out = rule.out > most_tiles ? tiles_of_many : rule.out;
    }
}

/// Layers to build, that stages and recomputation divide as they divide all.
std::int64_t fewer_layers(const spec::RunSpec& spec) {
    const std::int64_t stages = spec.parallel.stages;
    const std::int64_t layers = spec.model.layers;
    const auto weight = weight_of_layer(spec);
    const auto least = weight < heaviest ? least_layers : least_layers / 2;
    const auto most = std::max(2 * least, most_layers / weight);
    if (layers <= most * stages || !are_layers_alike(spec)) {
        return layers;
    }
    const auto period = stages * spec.parallel.chunks_per_stage * std::max(spec.recompute.every, 1);
    const auto wanted = std::max(most / 2 * stages, period);
    return std::min(layers, layers % period + (wanted + period - 1) / period * period);
}

}  // namespace

std::int64_t chunk_elements(const spec::RunSpec& spec) {
    return spec.tiers.chunk_elements > 0 ? spec.tiers.chunk_elements : layout::ChunkLayout::usual_elements;
}

bool are_layers_alike(const spec::RunSpec& spec) {
    if (spec.train.only.empty() && spec.tiers.tiles.empty()) {
        return true;
    }
    const auto first_rule = [&](const std::string& tensor) {
        const auto& tiles = spec.tiers.tiles;
        return std::ranges::find_if(
                   tiles, [&](const spec::TileRule& rule) { return spec::matches(rule.match, tensor); }) -
               tiles.begin();
    };
    std::vector<std::pair<bool, std::ptrdiff_t>> first;  // by tensor of a layer
    int unit = 0;
    std::size_t place = 0;
    for (const auto& tensor : layout::tensors(spec.model)) {
        place = tensor.unit == unit ? place + 1 : 0;
        unit = tensor.unit;
        const bool is_layer = unit >= 1 && unit <= spec.model.layers;
        const std::pair now{spec::is_trained(spec.train, tensor.name), first_rule(tensor.name)};
        if (is_layer && unit == 1) {
            first.push_back(now);
        } else if (is_layer && first.at(place) != now) {
            return false;
        }
    }
    return true;
}

std::int64_t weight_of_layer(const spec::RunSpec& spec) {
    auto least = spec;
    least.model.layers = spec.parallel.stages * spec.parallel.chunks_per_stage;
    const auto segments = std::ssize(schedule::ModelLayout{least, 0}.tiling(1).segments);
    return std::max<std::int64_t>(1, segments / segments_of_plain);
}

spec::RunSpec shortened(const spec::RunSpec& spec, Size size) {
    auto made = spec;
    cut_into_fewer_tiles(made);
    made.model.layers = fewer_layers(made);
    const auto chunks = schedule::optimizer_chunks(made, schedule::ModelLayout{made, 0});
    if (chunks.num_chunks() > most_chunks) {
        const auto most = size == Size::of_plan ? most_chunks : chunks_of_search;
        made.tiers.chunk_elements = chunk_elements(spec);
        while (chunks.elements() > most * made.tiers.chunk_elements) {
            made.tiers.chunk_elements *= 2;
        }
    }
    return made;
}

std::string how_exact(const spec::RunSpec& built, const spec::RunSpec& whole) {
    std::vector<std::string> parts;
    if (built.model.layers < whole.model.layers) {
        parts.push_back(
            fmt::format("from {} of {} layers", built.model.layers, format_grouped(whole.model.layers)));
    }
    if (built.tiers.tiles != whole.tiers.tiles) {
        const auto most = std::ranges::max(whole.tiers.tiles, {}, &spec::TileRule::out).out;
        parts.push_back(
            fmt::format("with weights in {} tiles instead of {}", tiles_of_many, format_grouped(most)));
    }
    if (chunk_elements(built) != chunk_elements(whole)) {
        parts.push_back(fmt::format("with chunks of {} elements instead of {}",
                                    format_grouped(chunk_elements(built)),
                                    format_grouped(chunk_elements(whole))));
    }
    return parts.empty() ? "" : fmt::format("{}: exact to about 5 %", fmt::join(parts, " and "));
}

}  // namespace ziggurat::plan
