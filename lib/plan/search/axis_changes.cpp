#include "plan/search/axis_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "layout/context/context_heads.hpp"
#include "layout/stage_layers.hpp"
#include "plan/layouts/axis_rules.hpp"
#include "spec/layout_space.hpp"
#include "spec/schedule_keyword.hpp"
#include "spec/tile_rules.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::plan {
namespace {

bool may_begin_to_share_tokens(const spec::RunSpec& spec) {
    return !spec.parallel.sequence && spec::can_share_tokens(spec, spec.parallel.tensor);
}

DeckEdit sharing_tokens(DeckEdit from) {
    from.spec.parallel.sequence = true;
    from.overrides += " parallel.sequence=true";
    if (from.spec.recompute.split) {
        from.spec.recompute.split = false;
        from.overrides += " recompute.split=auto";
    }
    return from;
}

/// Returns the layers of a pipeline in the form of a deck.
std::string write_layers(const spec::Parallel& parallel) {
    std::string each;
    for (int stage = 0; stage < parallel.stages; ++stage) {
        std::vector<std::int64_t> chunks;
        for (int chunk = 0; chunk < parallel.chunks_per_stage; ++chunk) {
            const auto v = static_cast<std::size_t>(spec::virtual_stage(stage, chunk, parallel));
            chunks.push_back(parallel.stage_layers[v]);
        }
        const auto layers = fmt::format("{}", fmt::join(chunks, ", "));
        each += fmt::format("{}{{layers: {}}}", stage == 0 ? "" : ", ",
                            chunks.size() == 1 ? layers : "[" + layers + "]");
    }
    return fmt::format(" 'parallel.pipeline.each=[{}]'", each);
}

/// True if the model can be divided over `tensor` ranks, as the deck's rules require (rules_parallel).
bool splits_over(const spec::RunSpec& spec, int tensor) {
    return can_divide_layers(spec.model, tensor) &&
           layout::can_exchange_heads(spec.model, spec.parallel, tensor) &&
           spec.model.vocab_padded % tensor == 0 &&
           (!spec.parallel.sequence || spec::can_share_tokens(spec, tensor));
}

bool are_nodes_wide_enough(const spec::Parallel& parallel, int tensor) {
    return parallel.order.front() == spec::Axis::tensor && parallel.ranks_per_node % tensor == 0;
}

/// Adapts spans to fewer data ranks, as the deck means them; returns false if a span has its own value.
bool cut_over(DeckEdit& made, int data_before) {
    auto& sharding = made.spec.sharding;
    const int data = made.spec.parallel.data;
    struct Named {
        const char* name;
        int* span;
    };
    for (const auto& [name, span] :
         {Named{"parameters", &sharding.parameters}, Named{"gradients", &sharding.gradients},
          Named{"optimizer", &sharding.optimizer}}) {
        const int min = made.spec.parallel.min_span();
        if (*span != min && *span != data_before) {
            return false;
        }
        if (*span != min) {
            *span = data;
            made.overrides += sharding.is_by_span ? fmt::format(" sharding.{}=all", name) : "";
        }
    }
    if (data % sharding.sum_group != 0) {
        sharding.sum_group = data;
        made.overrides += " sharding.sum_group=flat";
    }
    return true;
}

/// Returns `spec` with `tensor` times the tensor ranks and `stages` times the stages, and fewer data
/// ranks.
std::optional<DeckEdit> with_axes(const spec::RunSpec& spec, int tensor, int stages) {
    DeckEdit made{"", spec};
    auto& parallel = made.spec.parallel;
    auto& train = made.spec.train;
    const int times = tensor * stages;
    const bool allows_stages = spec.train.accumulate == spec::AccumulationOrder::by_micro_batch;
    const int sharers = parallel.context * parallel.tensor_depth;
    if (parallel.data % (times * sharers) != 0 || (tensor > 1 && parallel.has_grid()) ||
        spec.sharding.secondary > 0 || (stages > 1 && !allows_stages)) {
        return std::nullopt;
    }
    parallel.data /= times;
    train.micro_batches *= times;
    if (tensor > 1) {
        parallel.tensor *= tensor;
        if (!splits_over(spec, parallel.tensor) || !are_nodes_wide_enough(parallel, parallel.tensor)) {
            return std::nullopt;
        }
        made.overrides += fmt::format(" parallel.tensor={}", parallel.tensor);
    }
    if (stages > 1) {
        parallel.stages *= stages;
        const auto runs = std::int64_t{parallel.stages} * parallel.chunks_per_stage;
        const bool cuts_table = std::ranges::any_of(spec.tiers.tiles, [](const spec::TileRule& rule) {
            return spec::names_tensor(rule.match, "embedding.token");
        });
        if (spec.model.layers < runs || (spec::is_table_whole(made.spec) && cuts_table)) {
            return std::nullopt;
        }
        parallel.stage_layers.clear();
        made.overrides += fmt::format(" 'parallel.pipeline={{stages: {}, schedule: {}{}}}'", parallel.stages,
                                      spec::keyword_of(parallel.pipeline_schedule, parallel.chunks_per_stage),
                                      parallel.chunks_per_stage > 1
                                          ? fmt::format(", chunks_per_stage: {}", parallel.chunks_per_stage)
                                          : "");
    }
    made.overrides += fmt::format(" parallel.data={}", parallel.data_degree());
    const auto layers = (spec.model.layers + parallel.stages - 1) / parallel.stages;
    if (!cut_over(made, spec.parallel.data) || layers * train.micro_batches > max_layer_passes) {
        return std::nullopt;
    }
    return may_begin_to_share_tokens(made.spec) ? sharing_tokens(std::move(made)) : std::move(made);
}

/// Returns `spec` with `times` the ranks that share each sequence, and fewer that have their own.
std::optional<DeckEdit> with_context(const spec::RunSpec& spec, int times) {
    DeckEdit made{"", spec};
    auto& parallel = made.spec.parallel;
    auto& train = made.spec.train;
    parallel.context *= times;
    train.micro_batches *= times;
    const auto layers = (spec.model.layers + parallel.stages - 1) / parallel.stages;
    if (parallel.data % (parallel.context * parallel.tensor_depth) != 0 || !can_share_sequences(made.spec) ||
        !layout::can_exchange_heads(spec.model, parallel, parallel.tensor) ||
        (parallel.sequence && !spec::can_share_tokens(made.spec, parallel.tensor)) ||
        layers * train.micro_batches > max_layer_passes) {
        return std::nullopt;
    }
    made.overrides =
        fmt::format(" parallel.context.degree={} parallel.data={}", parallel.context, parallel.data_degree());
    return made;
}

}  // namespace

std::vector<DeckEdit> shared_tokens(const spec::RunSpec& spec) {
    std::vector<DeckEdit> found;
    if (may_begin_to_share_tokens(spec)) {
        found.push_back(sharing_tokens({"", spec}));
    }
    if (spec::has_equal_activations(spec.parallel) && !spec.recompute.split) {
        found.push_back({" recompute.split=true", spec});
        found.back().spec.recompute.split = true;
    }
    return found;
}

std::vector<DeckEdit> other_spreads(const spec::RunSpec& spec) {
    std::vector<DeckEdit> found;
    const auto& parallel = spec.parallel;
    if (parallel.stages == 1) {
        return found;
    }
    auto open = spec;
    open.parallel.stage_layers.clear();
    const auto balanced = layout::stage_layers(open);
    const auto now = parallel.stage_layers.empty() ? balanced : parallel.stage_layers;
    if (now != balanced) {
        found.push_back({" parallel.pipeline.each=auto", open});
    }
    const std::array ends = {std::size_t{0}, now.size() - 1};
    for (const auto from : ends) {
        auto layers = now;
        if (layers[from] < 2) {
            continue;
        }
        --layers[from];
        ++layers[from == 0 ? layers.size() - 1 : 0];
        found.push_back({"", spec});
        found.back().spec.parallel.stage_layers = layers;
        found.back().overrides = write_layers(found.back().spec.parallel);
    }
    return found;
}

std::vector<DeckEdit> more_model_ranks(const spec::RunSpec& spec) {
    std::vector<DeckEdit> found;
    constexpr int max = 16;
    const auto add = [&](int tensor, int stages) {
        if (auto made = with_axes(spec, tensor, stages)) {
            found.push_back(std::move(*made));
        }
    };
    for (int times = 2; times <= max; times *= 2) {
        add(times, 1);
        add(1, times);
        if (auto made = with_context(spec, times)) {
            found.push_back(std::move(*made));
        }
    }
    for (int times = 2; times <= max; times *= 2) {
        add(times, times);
    }
    return found;
}

}  // namespace ziggurat::plan
