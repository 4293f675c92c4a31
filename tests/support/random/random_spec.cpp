#include "tests/support/random/random_spec.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layout/context/context_heads.hpp"
#include "layout/context/context_rows.hpp"
#include "layout/counts.hpp"
#include "layout/families/adapters.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/tensors.hpp"
#include "spec/stage_state.hpp"
#include "spec/tile_rules.hpp"
#include "spec/virtual_stages.hpp"
#include "spec/weight_versions.hpp"
#include "tests/support/made_up_pairs.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/random/draw_fates.hpp"
#include "tests/support/random/spec_variants.hpp"
#include "tests/support/random/trained_part.hpp"

namespace ziggurat::test {
namespace {

using spec::DType;
using spec::PipelineSchedule;
using spec::RecomputeKind;
using spec::ReducePlan;

void draw_axes(Draw& draw, spec::Parallel& parallel, const RandomSpecLimits& limits) {
    do {
        parallel.tensor = draw.one_of<int>({1, 1, 1, 2, 3});
        parallel.context = limits.context ? draw.one_of<int>({1, 1, 1, 2, 3}) : 1;
        parallel.data = draw.one_of<int>({1, 2, 2, 3, 4, 4, 6, 8});
        parallel.stages = draw.one_of<int>({1, 1, 2, 3, 4});
        parallel.data *= parallel.context;
        parallel.ranks = parallel.tensor * parallel.data * parallel.stages;
    } while (parallel.ranks > limits.max_ranks);
    parallel.sequence = parallel.tensor > 1 && draw.chance(0.5);
    parallel.pipeline_schedule =
        draw.one_of<PipelineSchedule>({PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
                                       PipelineSchedule::interleaved, PipelineSchedule::zero_bubble});
    if (parallel.pipeline_schedule == PipelineSchedule::interleaved && parallel.stages > 1) {
        parallel.chunks_per_stage = static_cast<int>(draw.between(1, 3));
    }
    if (parallel.pipeline_schedule == PipelineSchedule::zero_bubble && parallel.stages > 1) {
        parallel.chunks_per_stage = static_cast<int>(draw.between(1, 2));
        if (parallel.chunks_per_stage == 2 && draw.chance(0.4)) {
            parallel.pipeline_schedule = PipelineSchedule::zero_bubble_half;
        }
    }
    auto& order = parallel.order;
    std::shuffle(order.begin(), order.end(), draw.engine());
    std::erase(order, spec::Axis::context);
    order.insert(std::ranges::find(order, spec::Axis::data), spec::Axis::context);
    if (parallel.context > 1 && draw.chance(0.6)) {
        parallel.context_kind = spec::ContextKind::ulysses;
    }
}

void draw_model(Draw& draw, spec::Model& model, const spec::Parallel& parallel) {
    const auto tensor = parallel.tensor;
    const auto families = layout::families();
    const auto& family = *families[static_cast<std::size_t>(draw.between(0, std::ssize(families) - 1))];
    model.family = family.name;
    const int virtual_stages = parallel.stages * parallel.chunks_per_stage;
    model.layers = std::max<std::int64_t>(virtual_stages, 1) + draw.between(0, 3);
    model.kv_heads = tensor * draw.between(1, 2);
    model.heads = model.kv_heads * (family.has_grouped_queries ? draw.between(1, 3) : 1);
    if (layout::exchanges_heads(parallel)) {
        // Each rank has its own key heads, or all share one.
        model.kv_heads = tensor * (family.has_grouped_queries && draw.chance(0.4) ? 1 : parallel.context);
        model.heads = model.kv_heads * (family.has_grouped_queries ? parallel.context : 1);
    }
    model.head_dim = 2 * draw.between(2, 7);
    model.hidden =
        family.has_own_head_dim && draw.chance(0.3) ? 2 * draw.between(4, 30) : model.heads * model.head_dim;
    model.no_rope_interval = family.no_rope_interval > 0 ? draw.between(0, 3) : 0;
    if (family.has_attention_scale && draw.chance(0.8)) {
        model.attention_scale = draw.one_of<double>({0, 0.25, 0.015625});
    }
    if (family.has_softcap()) {
        model.softcap = {.attention = draw.one_of<double>({0, 0.5, 50}),
                         .logits = draw.one_of<double>({0, 0.4, 30})};
    }
    if (family.has_multipliers && draw.chance(0.8)) {
        model.multiplier = {.embedding = draw.one_of<double>({1, 12, 0.3}),
                            .residual = draw.one_of<double>({1, 0.22, 0.7}),
                            .logits = draw.one_of<double>({1, 0.125, 1.7})};
    }
    if (family.has_optional_biases && draw.chance(0.3)) {
        model.bias = {.qkv = draw.chance(0.5), .output = draw.chance(0.5), .mlp = draw.chance(0.5)};
    }
    model.ffn_hidden = draw.chance(0.5) ? 4 * model.heads * model.head_dim : tensor * draw.between(5, 40);
    if (family.rotary_fraction < 1) {
        const auto turned = 2 * draw.between(1, model.head_dim / 2);
        model.rotary_fraction = static_cast<double>(turned) / static_cast<double>(model.head_dim);
    }
    model.vocab = draw.between(7, 70);
    const auto multiple = tensor * draw.between(1, 8);
    model.vocab_padded = (model.vocab + multiple - 1) / multiple * multiple;
    // If virtual stages turn back, one stage sums both parts of a tied gradient in an order of its own.
    model.tie_embeddings = draw.chance(0.5) && !spec::turns_back(parallel);
    model.dropout = family.has_dropout && draw.chance(0.3) ? 0.1 : 0;
}

void draw_sharding(Draw& draw, spec::Sharding& sharding, const spec::Parallel& parallel) {
    const int d = parallel.data;
    if (draw.chance(0.5)) {
        const auto stage = draw.one_of<int>({0, 1, 2, 3, 3});
        sharding.optimizer = stage >= 1 ? d : 1;
        sharding.gradients = stage >= 2 ? d : 1;
        sharding.parameters = stage >= 3 ? d : 1;
    } else {
        sharding.optimizer = draw.between_divisors(1, d);
        sharding.parameters = draw.between_divisors(1, sharding.optimizer);
        sharding.gradients = draw.chance(0.5) ? sharding.parameters : sharding.optimizer;
    }
    if (sharding.parameters > 1 && draw.chance(0.8)) {
        std::vector<int> proper;
        for (int span = 2; span < sharding.parameters; ++span) {
            if (sharding.parameters % span == 0) {
                proper.push_back(span);
            }
        }
        sharding.secondary = draw.one_of(proper.empty() ? std::vector{0} : proper);
    }
    sharding.reduce =
        draw.one_of<ReducePlan>({ReducePlan::at_end, ReducePlan::each_microbatch, ReducePlan::by_span});
    sharding.sum_group = d;
}

spec::Home draw_home(Draw& draw) {
    switch (draw.between(0, 5)) {
        case 0:
            return {1, 0, 0};
        case 1:
            return {0, 1, 0};
        case 2:
            return {0, 0, 1};
        case 3:
            return {0.3, 0.7, 0};
        case 4:
            return {0.25, 0, 0.75};
        default:
            return {0.2, 0.3, 0.5};
    }
}

/// Draws patterns of units and kinds of tensors, or single tensors; parts of one matrix stay together.
std::vector<std::string> draw_trained(Draw& draw, const spec::RunSpec& spec) {
    const auto layer = [&] { return std::to_string(draw.between(0, spec.model.layers - 1)); };
    const std::vector<std::string> patterns{"*",
                                            "*.bias",
                                            "*norm*",
                                            "embedding.*",
                                            "embedding.position",
                                            "head.*",
                                            "final_norm.gain",
                                            "layers." + std::to_string(spec.model.layers - 1) + ".*",
                                            "*.attention.*",
                                            "*.mlp.down.*",
                                            "*weight",
                                            "layers." + layer() + ".*",
                                            "layers." + layer() + ".mlp*"};
    if (draw.chance(0.6)) {
        std::vector<std::string> chosen{draw.one_of(patterns)};
        if (draw.chance(0.5)) {
            chosen.push_back(draw.one_of(patterns));
        }
        return chosen;
    }
    const auto share = draw.one_of<double>({0.05, 0.3, 0.8});
    std::vector<std::string> names;
    bool is_chosen = false;
    for (const auto& tensor : layout::tensors(spec.model)) {
        is_chosen = tensor.joined_to_previous ? is_chosen : draw.chance(share);
        if (is_chosen) {
            names.push_back(tensor.name);
        }
    }
    return names;
}

/// Draws tiling rules for some products, and a vocabulary of several tiles if its weights are among
/// them.
void draw_tiles(Draw& draw, spec::RunSpec& spec) {
    const std::vector<std::string> patterns{"*",    "mlp.*", "attention.*",     "mlp.down", "attention.q",
                                            "head", "*up",   "embedding.token", "mlp.gate"};
    do {
        spec.tiers.tiles.push_back(
            {.match = draw.one_of(patterns), .in = 1, .out = static_cast<int>(draw.between(2, 5))});
    } while (draw.chance(0.5));
    std::erase_if(spec.tiers.tiles, [&](const spec::TileRule& rule) {
        return spec::is_table_whole(spec) && spec::names_tensor(rule.match, "embedding.token");
    });
    if (draw.chance(0.5)) {
        const auto multiple = spec.parallel.tensor;
        spec.model.vocab = draw.between(1000, 3000) * multiple;
        spec.model.vocab_padded = spec.model.vocab + draw.between(0, 3) * multiple;
    }
}

/// Draws adapters for some weights of all families, or of one.
void draw_adapters(Draw& draw, spec::RunSpec& spec) {
    const std::vector<std::string> patterns{"attention.q", "attention.v", "attention.*", "attention.out",
                                            "mlp.up",      "mlp.down",    "mlp.*",       "*"};
    spec.model.lora = {.rank = draw.between(1, 5), .alpha = 3, .targets = {draw.one_of(patterns)}};
    if (draw.chance(0.5)) {
        spec.model.lora.targets.push_back(draw.one_of(patterns));
    }
    spec.train.only = layout::patterns_of_adapters();
}

/// Draws the layers of stages, at least one per chunk.
void draw_stage_layers(Draw& draw, spec::RunSpec& spec) {
    auto& layers = spec.parallel.stage_layers;
    layers.assign(static_cast<std::size_t>(spec.parallel.stages * spec.parallel.chunks_per_stage), 1);
    for (auto left = spec.model.layers - std::ssize(layers); left > 0; --left) {
        ++layers[static_cast<std::size_t>(draw.between(0, std::ssize(layers) - 1))];
    }
}

/// Draws recomputation and homes of each stage.
void draw_stages(Draw& draw, spec::RunSpec& spec, bool with_homes) {
    for (int stage = 0; stage < spec.parallel.stages; ++stage) {
        auto state = spec::general_state(spec);
        state.recompute.kind =
            draw.one_of<RecomputeKind>({RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
        state.recompute.every = static_cast<int>(draw.between(1, 2));
        for (auto* home : {&state.parameters, &state.gradients, &state.optimizer, &state.activations}) {
            *home = with_homes && draw.chance(0.6) ? draw_home(draw) : *home;
        }
        spec.stages.push_back(state);
    }
}

/// Draws a spec without fates of single activations.
spec::RunSpec random_spec_of_kinds(std::uint64_t seed, const RandomSpecLimits& limits);

}  // namespace

spec::RunSpec random_spec(std::uint64_t seed, const RandomSpecLimits& limits) {
    auto spec = random_spec_of_kinds(seed, limits);
    Draw grid_draw{seed + 8'000'000};  // its own, so that the limit changes no other draw; as below
    if (limits.grids && grid_draw.chance(0.5)) {
        const bool in_pieces = spec.overlap.tensor_pieces;
        spec = with_grid(spec, std::max(2, spec.parallel.tensor), limits.max_ranks);
        spec = grid_draw.chance(0.6) ? with_cube(spec, limits.max_ranks) : spec;
        spec.overlap.tensor_pieces = in_pieces && (spec.parallel.has_cube() || !spec.parallel.has_grid());
    }
    Draw trained_draw{seed + 7'000'000};
    if (limits.frozen && spec.train.only.empty() && spec.parallel.stages > 1 && trained_draw.chance(0.3)) {
        spec.train.only = draw_trained_part(trained_draw, spec.model);
    }
    Draw draw{seed + 9'000'000};
    if (limits.fates && draw.chance(0.6)) {
        spec.recompute.fates = draw_fates(draw, spec, 6, limits.tiers);
        for (auto& state : spec.stages) {
            state.recompute.fates = spec.recompute.fates;
        }
    }
    return spec;
}

namespace {

spec::RunSpec random_spec_of_kinds(std::uint64_t seed, const RandomSpecLimits& limits) {
    Draw draw{seed};
    spec::RunSpec spec;
    draw_axes(draw, spec.parallel, limits);
    draw_model(draw, spec.model, spec.parallel);
    draw_sharding(draw, spec.sharding, spec.parallel);

    spec.data.seq = layout::context_blocks(spec.parallel) * spec.parallel.tensor * draw.between(2, 9);
    spec.model.max_seq = spec.data.seq + draw.between(0, 5);
    spec.train.micro_batch = draw.between(1, 3);
    spec.train.micro_batches = draw.between(1, 5);
    spec.train.global_batch =
        spec.train.micro_batch * spec.train.micro_batches * spec.parallel.sequence_groups();
    spec.train.steps = 10;

    spec.overlap.prefetch = static_cast<int>(draw.between(0, 3));
    spec.overlap.optimizer_prefetch = static_cast<int>(draw.between(0, 12));
    spec.overlap.bucket_elements = draw.one_of<std::int64_t>({0, 5000, 20000, 1 << 30});
    spec.recompute.kind =
        draw.one_of<RecomputeKind>({RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
    spec.recompute.every = static_cast<int>(draw.between(1, 2));
    spec.precision.compute = draw.one_of<DType>({DType::f32, DType::bf16});

    spec.precision.gradient = draw.one_of<DType>({DType::f32, DType::f32, DType::bf16});

    spec.tiers.chunk_elements = 256 * draw.between(1, 40);
    spec.tiers.device_budget_bytes = spec.tiers.host_budget_bytes = spec.tiers.nvme_budget_bytes = 1LL << 40;
    if (limits.tiers && draw.chance(0.5)) {
        spec.tiers.parameters = draw_home(draw);
        spec.tiers.gradients = draw_home(draw);
        spec.tiers.optimizer = draw_home(draw);
        spec.tiers.activations = draw_home(draw);
    }
    if (limits.frozen && draw.chance(0.4)) {
        do {
            spec.train.only = draw_trained(draw, spec);
        } while (spec.train.only.empty() || layout::count_trained(spec) == 0);
    }
    if (draw.chance(0.5)) {
        spec.checkpoint.every = spec::Interval{.steps = 1};
        spec.checkpoint.is_async = draw.chance(0.7);
    }
    if (limits.tiles && spec.sharding.secondary == 0 && draw.chance(0.4)) {
        draw_tiles(draw, spec);
    }
    if (layout::family_of(spec.model).has_grouped_queries && draw.chance(0.4)) {
        spec.model.kv_heads = 1;  // all tensor ranks share it
    }
    spec.overlap.tensor_pieces = spec.parallel.tensor > 1 && draw.chance(0.4);
    spec.recompute.split = spec.parallel.tensor > 1 && !spec.parallel.sequence && draw.chance(0.5);
    if (spec.parallel.stages > 1 && draw.chance(0.3)) {
        draw_stage_layers(draw, spec);
    }
    if (spec.sharding.parameters > 1 && spec.sharding.secondary == 0 && draw.chance(0.4)) {
        spec.sharding.leases = spec::LeaseSpan::step;
    }
    if (limits.stages_differ && spec.parallel.stages > 1 && draw.chance(0.5)) {
        draw_stage_layers(draw, spec);
        draw_stages(draw, spec, limits.tiers);
    }
    if (limits.lora) {
        draw_adapters(draw, spec);
    }
    if (layout::family_of(spec.model).has_window && draw.chance(0.8)) {
        spec.model.window = draw.between(1, spec.data.seq);
        spec.model.full_attention_interval = draw.one_of<std::int64_t>({0, 0, 2, 3});
        spec.model.window_rope_theta = layout::family_of(spec.model).window_rope_theta;
    }
    if (limits.by_layer && spec.parallel.stages * spec.parallel.chunks_per_stage == 1 && draw.chance(0.5)) {
        spec.train.accumulate = spec::AccumulationOrder::by_layer;
    }
    if (draw.chance(0.3)) {
        spec.train.average = {.decay = 0.75, .from = draw.between(0, 2)};
    }
    if (draw.chance(0.3)) {
        spec.overlap.optimizer_with_backward = true;
        spec.optimizer.clip = draw.chance(0.6)   ? spec::ClipPolicy::global
                              : draw.chance(0.5) ? spec::ClipPolicy::off
                                                 : spec::ClipPolicy::per_unit;
    } else if (draw.chance(0.15)) {
        spec.optimizer.clip = spec::ClipPolicy::per_unit;
    }
    if (spec.model.dropout == 0 && spec.data.seq >= 8 && draw.chance(0.25)) {
        spec = with_pairs(spec, draw.chance(0.5) ? spec::ObjectiveKind::dpo : spec::ObjectiveKind::ipo);
    }
    if (!spec.overlap.optimizer_with_backward && draw.chance(0.3)) {
        spec.overlap.delayed_update = true;
        spec.overlap.delayed_update_after = draw.between(0, 3);
    }
    if (spec.tiers.tiles.empty() && !spec.overlap.tensor_pieces && draw.chance(0.3)) {
        spec.tiers.sequence_tiles = static_cast<int>(draw.between(2, 5));
    }
    spec.tiers.embedding_on_host = limits.tiers && draw.chance(0.3);
    if (limits.tiers && spec.parallel.stages == 1 && draw.chance(0.2)) {
        spec = with_reuse(spec);
    }
    spec.logging.norms = !spec::has_no_flush(spec.parallel) && draw.chance(0.25) ? 1 : 0;
    return spec;
}

}  // namespace

}  // namespace ziggurat::test
