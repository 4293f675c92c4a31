#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "deck/messages/arithmetic.hpp"
#include "deck/rules/rules.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/context/context_rows.hpp"
#include "layout/node_groups.hpp"
#include "spec/data_ranks.hpp"

namespace ziggurat::deck {
namespace {

void degrees_fill_the_ranks(const Resolution& at) {
    const spec::Parallel& parallel = at.run.parallel;
    const std::int64_t others = std::int64_t{parallel.tensor_degree()} * parallel.context * parallel.stages;
    const std::int64_t data = std::max<std::int64_t>(1, at.values.integer("parallel.data"));
    constexpr std::int64_t max = std::int64_t{1} << 62;
    const std::int64_t product = others > max / data ? max : others * data;
    if (product == parallel.ranks) {
        return;
    }
    const std::string sum =
        fmt::format("tensor {} x context {} x stages {} x data {} = {}{}", parallel.tensor_degree(),
                    parallel.context, parallel.stages, data, product, product == max ? " or more" : "");
    const auto cannot_be_laid_out =
        fmt::format("{} rank{} cannot be laid out", parallel.ranks, parallel.ranks == 1 ? "" : "s");
    const char* key =
        !at.values.is_written("parallel.data") || others > parallel.ranks ? "parallel" : "parallel.data";
    constexpr std::int64_t max_ranks = 1 << 20;  // the same as for --ranks
    if (product > max_ranks) {
        at.found.error(at.values.location(key), cannot_be_laid_out, sum, "Use smaller degrees.");
        return;
    }
    at.found.error(at.values.location(key), cannot_be_laid_out, sum,
                   fmt::format("Start {} ranks, or change a degree.",
                               list_or(at.values.is_written("parallel.data")
                                           ? std::vector{product}
                                           : nearest_multiples(parallel.ranks, others))));
}

void positions_split_evenly(const Resolution& at) {
    const spec::Parallel& parallel = at.run.parallel;
    const auto parts = layout::position_parts(parallel);
    if (at.run.data.seq % parts == 0) {
        return;
    }
    const char* key = parallel.context > 1 ? "parallel.context.degree" : "parallel.sequence";
    at.found.error(
        at.values.location(key), fmt::format("data.seq = {} does not split into {}", at.run.data.seq, parts),
        layout::context_blocks(parallel) > parallel.context
            ? "each context rank of a ring holds two blocks of positions, and all blocks are equal"
            : "context ranks, and tensor ranks with parallel.sequence, hold equal ranges of positions",
        fmt::format("Use a length of {}.", list_or(nearest_multiples(at.run.data.seq, parts))));
}

/// Jacobs et al., "DeepSpeed Ulysses", 2023, section 3.1.
void ulysses_has_heads_to_exchange(const Resolution& at) {
    const auto& model = at.run.model;
    const spec::Parallel& parallel = at.run.parallel;
    if (layout::can_exchange_heads(model, parallel, parallel.tensor) || !at.found.ok()) {
        return;
    }
    std::vector<std::int64_t> fitting;
    for (const auto degree : divisors(model.heads / parallel.tensor)) {
        auto other = parallel;
        other.context = static_cast<int>(degree);
        if (layout::can_exchange_heads(model, other, parallel.tensor)) {
            fitting.push_back(degree);
        }
    }
    const auto heads = layout::context_heads(model, parallel, true);
    at.found.error(at.values.location("parallel.context.degree"),
                   fmt::format("{} context ranks cannot divide {} query and {} key heads of a tensor rank",
                               parallel.context, heads.heads, heads.kv_heads),
                   "ulysses gives each rank whole heads; ranks share a key head if there are fewer",
                   fmt::format("Use {}.", list_or(fitting)));
}

void stages_have_layers(const Resolution& at) {
    const spec::Parallel& parallel = at.run.parallel;
    const std::int64_t runs = std::int64_t{parallel.stages} * parallel.chunks_per_stage;
    if (at.run.model.layers >= runs) {
        return;
    }
    at.found.error(at.values.location("parallel.pipeline.stages"),
                   fmt::format("{} layers do not fill stages {} x chunks_per_stage {} = {}",
                               at.run.model.layers, parallel.stages, parallel.chunks_per_stage, runs),
                   "each holds at least one layer", "Use fewer stages.");
}

void only_interleaved_has_chunks(const Resolution& at) {
    const spec::Parallel& parallel = at.run.parallel;
    const auto schedule = at.values.keyword("parallel.pipeline.schedule");
    if (schedule.starts_with("zero_bubble_v")) {
        if (parallel.chunks_per_stage != 2) {
            at.found.error(
                at.values.location("parallel.pipeline.chunks_per_stage"),
                fmt::format("chunks_per_stage = {} with schedule {}", parallel.chunks_per_stage, schedule),
                "each stage has one chunk on the path there and one on the path back", "Remove it.");
        }
        return;
    }
    const bool is_interleaved = parallel.pipeline_schedule == spec::PipelineSchedule::interleaved;
    if (parallel.chunks_per_stage > 1 && !is_interleaved) {
        at.found.error(
            at.values.location("parallel.pipeline.chunks_per_stage"),
            fmt::format("chunks_per_stage = {} without schedule interleaved", parallel.chunks_per_stage),
            "the other schedules pass each stage once", "Add schedule: interleaved.");
    }
}

/// Checks that parallel.pipeline.each lists all stages and chunks.
void each_names_all_stages(const Resolution& at) {
    const spec::Parallel& parallel = at.run.parallel;
    constexpr const char* each = "parallel.pipeline.each";
    const auto count = at.values.count(each);
    if (count > 0 && count != parallel.stages) {
        at.found.error(
            at.values.location(each),
            fmt::format("parallel.pipeline.each has {} entr{} for {} stage{}", count,
                        count == 1 ? "y" : "ies", parallel.stages, parallel.stages == 1 ? "" : "s"),
            "it has one for each stage", "Write one entry per stage, or leave it out.");
        return;
    }
    for (std::int64_t stage = 0; stage < count; ++stage) {
        const auto path = fmt::format("{}[{}].layers", each, stage);
        const auto chunks = std::ssize(at.values.as<std::vector<std::int64_t>>(path));
        if (chunks > 0 && chunks != parallel.chunks_per_stage) {
            at.found.error(at.values.location(path),
                           fmt::format("stage {} has layers of {} chunk{}, not of {}", stage, chunks,
                                       chunks == 1 ? "" : "s", parallel.chunks_per_stage),
                           "parallel.pipeline.chunks_per_stage is the number of chunks of a stage",
                           parallel.chunks_per_stage == 1 ? "Write one number."
                                                          : "Write a list with a number for each.");
        }
    }
}

void each_spreads_all_layers(const Resolution& at) {
    const auto& layers = at.run.parallel.stage_layers;
    const auto sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
    if (!layers.empty() && sum != at.run.model.layers) {
        at.found.error(
            at.values.location("parallel.pipeline.each"),
            fmt::format("the layers of parallel.pipeline.each add up to {}, not to model.layers = {}", sum,
                        at.run.model.layers),
            "each layer belongs to one stage", "Change some, or leave it out: auto distributes them.");
    }
}

void order_names_each_axis_once(const Resolution& at) {
    std::vector<spec::Axis> order = at.run.parallel.order;
    std::sort(order.begin(), order.end());
    const std::vector all = {spec::Axis::tensor, spec::Axis::context, spec::Axis::data, spec::Axis::pipeline};
    if (order != all) {
        at.found.error(at.values.location("parallel.order"), "parallel.order does not name each axis once",
                       "ranks are numbered along all four axes",
                       "Write [tensor, context, data, pipeline] in some order.");
    }
}

void context_is_next_to_data(const Resolution& at) {
    if (at.run.parallel.context == 1 || spec::is_context_next_to_data(at.run.parallel)) {
        return;
    }
    at.found.error(at.values.location("parallel.order"), "context is not directly before data",
                   "state is sharded over the context and data ranks together, as one axis",
                   "Write [tensor, context, data, pipeline], or leave parallel.order out.");
}

/// Shoeybi et al., "Megatron-LM", 2019: tensor ranks exchange activations four times per layer.
void tensor_groups_lie_within_nodes(const Resolution& at) {
    const spec::Parallel& parallel = at.run.parallel;
    const int pretended = at.run.debug.nodes;
    if (parallel.tensor == 1 || pretended > parallel.ranks || !at.found.ok()) {
        return;
    }
    const auto& started = at.options.node_of_rank;
    const auto node_of = pretended == 0 && std::ssize(started) == parallel.ranks
                             ? started
                             : layout::nodes_in_a_row(parallel.ranks, parallel.ranks_per_node, pretended);
    const auto group = layout::widest_group(layout::Mesh{parallel}, spec::Axis::tensor, node_of);
    if (group.num_nodes > 1) {
        at.found.warning(at.values.location("parallel.tensor.degree"),
                         fmt::format("tensor groups span {} nodes, such as {}", group.num_nodes,
                                     layout::list_ranks(group.ranks)),
                         "each layer waits for their sums in forward and in backward, over the network",
                         layout::keep_tensor_groups_together(parallel, node_of));
    }
}

constexpr const char* degrees =
    "parallel.tensor.degree parallel.context.degree parallel.pipeline.stages parallel.data";

constexpr std::array rules = {
    Rule{degrees_fill_the_ranks, degrees},
    Rule{positions_split_evenly, "parallel.tensor.degree parallel.context parallel.sequence data.seq"},
    Rule{ulysses_has_heads_to_exchange, "parallel.tensor.degree parallel.context model.heads"},
    Rule{stages_have_layers, "parallel.pipeline model.layers"},
    Rule{only_interleaved_has_chunks, "parallel.pipeline"},
    Rule{each_names_all_stages, "parallel.pipeline"},
    Rule{each_spreads_all_layers, "parallel.pipeline model.layers"},
    Rule{order_names_each_axis_once, "parallel.order"},
    Rule{context_is_next_to_data, "parallel.order parallel.context.degree"},
    Rule{tensor_groups_lie_within_nodes, "parallel debug.nodes"},
};

}  // namespace

std::span<const Rule> parallel_rules() {
    return rules;
}

}  // namespace ziggurat::deck
