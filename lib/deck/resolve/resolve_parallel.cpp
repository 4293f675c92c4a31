#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "deck/resolve/resolve.hpp"
#include "spec/data_ranks.hpp"
#include "spec/layout_space.hpp"
#include "spec/tensor_grid.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::deck {
namespace {

spec::TensorMode tensor_mode(const std::string& keyword) {
    return keyword == "2d"     ? spec::TensorMode::two_d
           : keyword == "2.5d" ? spec::TensorMode::two_and_half_d
           : keyword == "3d"   ? spec::TensorMode::three_d
                               : spec::TensorMode::one_d;
}

spec::PipelineSchedule pipeline_schedule(const std::string& keyword) {
    return keyword == "gpipe"                   ? spec::PipelineSchedule::gpipe
           : keyword == "interleaved"           ? spec::PipelineSchedule::interleaved
           : keyword == "pipedream"             ? spec::PipelineSchedule::pipedream
           : keyword == "zero_bubble_v_half"    ? spec::PipelineSchedule::zero_bubble_half
           : keyword.starts_with("zero_bubble") ? spec::PipelineSchedule::zero_bubble
                                                : spec::PipelineSchedule::one_f_one_b;
}

spec::Axis axis(const std::string& keyword) {
    return keyword == "tensor"    ? spec::Axis::tensor
           : keyword == "context" ? spec::Axis::context
           : keyword == "data"    ? spec::Axis::data
                                  : spec::Axis::pipeline;
}

/// Sets rows and columns of the grid of `degree` tensor ranks, and its copies or the layers of a cube.
///
/// If they are not a grid, which a rule reports, they stay one row.
void resolve_tensor(spec::Parallel& parallel, int degree, int depth) {
    parallel.tensor = degree;
    parallel.tensor_rows = parallel.tensor_depth = 1;
    using spec::TensorMode;
    const auto mode = parallel.tensor_mode;
    const int copies = mode == TensorMode::two_and_half_d ? depth
                       : mode == TensorMode::three_d      ? spec::side_of_cube(degree)
                                                          : 1;
    const int side = spec::side_of_grid(degree / copies);
    const bool is_cube = mode != TensorMode::three_d || side == copies;
    if (mode != TensorMode::one_d && side > 1 && side * side * copies == degree && is_cube) {
        parallel.tensor = parallel.tensor_rows = side;
        parallel.tensor_depth = copies;
    }
}

/// Returns the product of the degrees in the deck, which divides the number of ranks.
std::int64_t stated_degrees(const spec::Parallel& parallel) {
    return static_cast<std::int64_t>(parallel.tensor_degree()) * parallel.context * parallel.stages;
}

void resolve_data_degree(Resolution& resolution) {
    spec::Parallel& parallel = resolution.run.parallel;
    const std::int64_t others = stated_degrees(parallel);
    const bool is_free = resolution.is_auto("parallel.data");
    // Maximum number of ranks: the schema bounds each degree by it, but not their product.
    constexpr std::int64_t max = 1 << 20;
    const std::int64_t stated = std::clamp<std::int64_t>(resolution.values.integer("parallel.data"), 1, max);
    parallel.ranks = resolution.options.ranks > 0
                         ? resolution.options.ranks
                         : static_cast<int>(std::min(std::min(others, max) * stated, max));
    if (is_free) {
        const std::int64_t degree = std::max<std::int64_t>(1, parallel.ranks / others);
        resolution.set_resolved_integer(
            "parallel.data", degree,
            fmt::format("{} rank{} / (tensor {} x context {} x stages {})", parallel.ranks,
                        parallel.ranks == 1 ? "" : "s", parallel.tensor_degree(), parallel.context,
                        parallel.stages));
    }
    const std::int64_t groups = resolution.values.integer("parallel.data");
    const std::int64_t sharers = std::int64_t{parallel.context} * parallel.tensor_depth;
    parallel.data = static_cast<int>(std::clamp<std::int64_t>(groups, 1, max / sharers) * sharers);
}

void resolve_threads(Resolution& resolution) {
    spec::Parallel& parallel = resolution.run.parallel;
    if (resolution.is_auto("parallel.threads")) {
        const int asked = resolution.options.threads;
        const int share = std::max(1, resolution.machine.cores_per_node / parallel.ranks_per_node);
        resolution.set_resolved_integer(
            "parallel.threads", asked > 0 ? asked : share,
            asked > 0 ? std::string{"as the program was started"}
                      : fmt::format("{} cores / {} rank{} of a node", resolution.machine.cores_per_node,
                                    parallel.ranks_per_node, parallel.ranks_per_node == 1 ? "" : "s"));
    }
    parallel.threads = static_cast<int>(resolution.values.integer("parallel.threads"));
}

/// Returns layers by virtual stage from parallel.pipeline.each.
///
/// Empty if it is auto, or does not match the stages and their chunks, which a rule reports.
std::vector<std::int64_t> named_stage_layers(Resolution& resolution) {
    const Values& values = resolution.values;
    const spec::Parallel& parallel = resolution.run.parallel;
    const auto count = values.count("parallel.pipeline.each");
    bool fits = count == parallel.stages;
    std::vector<std::vector<std::int64_t>> of_stage;
    for (std::int64_t stage = 0; stage < count; ++stage) {
        const auto path = fmt::format("parallel.pipeline.each[{}].layers", stage);
        fits = resolution.require(path, "a stage has layers") && fits;
        of_stage.push_back(values.as<std::vector<std::int64_t>>(path));
        fits = fits && std::ssize(of_stage.back()) == parallel.chunks_per_stage;
    }
    std::vector<std::int64_t> layers;
    for (int v = 0; fits && v < parallel.stages * parallel.chunks_per_stage; ++v) {
        layers.push_back(of_stage[spec::stage_of(v, parallel)][v / parallel.stages]);
    }
    return layers;
}

/// Resolves parallel.sequence: with auto, it is on if the tensor ranks can divide the positions.
void resolve_sequence(Resolution& resolution) {
    spec::Parallel& parallel = resolution.run.parallel;
    if (resolution.is_auto("parallel.sequence")) {
        const bool is_on = spec::can_share_tokens(resolution.run, parallel.tensor);
        resolution.values.set_resolved("parallel.sequence", is_on, is_on ? "true" : "false",
                                       is_on                  ? "the tensor ranks can divide the positions"
                                       : parallel.tensor == 1 ? "there is one tensor rank"
                                       : parallel.has_grid()
                                           ? "a grid of tensor ranks divides batch and width"
                                           : "the positions cannot be divided by the tensor ranks");
    }
    parallel.sequence = resolution.values.boolean("parallel.sequence");
}

}  // namespace

void resolve_parallel(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Parallel& parallel = resolution.run.parallel;
    const auto degree = [&](const char* path) {
        return static_cast<int>(std::max<std::int64_t>(1, values.integer(path)));
    };
    parallel.tensor_mode = tensor_mode(values.keyword("parallel.tensor.mode"));
    resolve_tensor(parallel, degree("parallel.tensor.degree"), degree("parallel.tensor.depth"));
    parallel.context = degree("parallel.context.degree");
    resolve_sequence(resolution);
    parallel.context_kind = values.is_keyword("parallel.context.kind", "ulysses") ? spec::ContextKind::ulysses
                                                                                  : spec::ContextKind::ring;
    parallel.stages = degree("parallel.pipeline.stages");
    parallel.pipeline_schedule = pipeline_schedule(values.keyword("parallel.pipeline.schedule"));
    constexpr const char* chunks = "parallel.pipeline.chunks_per_stage";
    const auto schedule = values.keyword("parallel.pipeline.schedule");
    if (schedule.starts_with("zero_bubble_v") && !values.is_written(chunks)) {
        resolution.set_resolved_integer(chunks, 2, schedule + " has two chunks per stage");
    }
    parallel.chunks_per_stage = degree(chunks);
    parallel.stage_layers = named_stage_layers(resolution);
    parallel.order.clear();
    for (const std::string& keyword : values.as<std::vector<std::string>>("parallel.order")) {
        parallel.order.push_back(axis(keyword));
    }
    resolve_data_degree(resolution);
    const int on_a_node = resolution.options.ranks_per_node > 0 ? resolution.options.ranks_per_node
                          : resolution.options.machine          ? resolution.machine.ranks_per_node
                                                                : parallel.ranks;
    parallel.ranks_per_node = std::clamp(on_a_node, 1, parallel.ranks);
    resolve_threads(resolution);
}

int data_ranks_per_node(const Resolution& resolution) {
    const spec::Parallel& parallel = resolution.run.parallel;
    const auto pretended = static_cast<int>(resolution.values.integer("debug.nodes"));
    return spec::data_ranks_among(parallel,
                                  pretended > 0 ? parallel.ranks / pretended : parallel.ranks_per_node);
}

}  // namespace ziggurat::deck
