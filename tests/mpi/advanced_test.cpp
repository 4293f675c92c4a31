/// Class B of context ranks, tensor grids, collectives in pieces, and MLPs in tiles, against one rank.
///
/// Families take turns with the sizes of micro-batches: each layout has both, and so has each family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/control.hpp"
#include "layout/context/context_rows.hpp"
#include "layout/families/adapters.hpp"
#include "tests/support/all_cases.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/made_up_pairs.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using test::TinyOutcome;

constexpr std::int64_t samples = 8;

/// Degrees of the axes; `zero` is the ZeRO stage.
struct Layout {
    int context = 1;
    int data = 1;
    int tensor = 1;
    int stages = 1;
    int zero = 0;
    bool has_sequence = false;
    bool has_pieces = false;
    bool is_ring = false;
    int tiles = 1;  ///< of MLPs along the sequence
    int rows = 1;   ///< rows of a grid of tensor ranks; `tensor` is then its columns
    int depth = 1;  ///< copies of the grid, or layers of a cube
    bool is_cube = false;
    int nodes = 0;  ///< emulated nodes; with several, a ring has two levels
    spec::RecomputeKind recompute = spec::RecomputeKind::none;
    bool has_pairs = false;  ///< of answers, with a preference objective
    bool has_adapters = false;
    int weight_tiles = 1;  ///< of each weight
    bool has_host_lookups = false;

    int ranks() const { return context * data * tensor * rows * depth * stages; }
    std::string text() const {
        return "context " + std::to_string(context) + (is_ring ? " (ring), data " : ", data ") +
               std::to_string(data) + ", tensor " + std::to_string(tensor) + ", stages " +
               std::to_string(stages) + ", zero " + std::to_string(zero) +
               (has_sequence ? ", sequence" : "") + (has_pieces ? ", pieces" : "") +
               (tiles > 1 ? ", tiles " + std::to_string(tiles) : "") +
               (nodes > 1 ? ", nodes " + std::to_string(nodes) : "") + (has_pairs ? ", pairs" : "") +
               (has_adapters ? ", adapters" : "") +
               (weight_tiles > 1 ? ", tiles of weights " + std::to_string(weight_tiles) : "") +
               (has_host_lookups ? ", lookups on the host" : "") +
               (rows > 1 ? (is_cube ? ", cube" : ", grid") + std::string{" of depth "} + std::to_string(depth)
                         : "");
    }
};

std::vector<Layout> layouts() {
    using spec::RecomputeKind;
    return {
        {.context = 2, .is_ring = true},
        {.context = 2, .zero = 3, .is_ring = true, .recompute = RecomputeKind::full},
        {.context = 3, .zero = 1, .is_ring = true, .recompute = RecomputeKind::selective},
        {.context = 4, .zero = 2, .is_ring = true},
        {.context = 4, .zero = 3, .is_ring = true, .nodes = 2},
        {.context = 4, .is_ring = true, .nodes = 2, .recompute = RecomputeKind::selective},
        {.context = 6, .zero = 1, .is_ring = true, .nodes = 2},
        {.context = 6, .zero = 2, .is_ring = true, .nodes = 3, .recompute = RecomputeKind::full},
        {.context = 2, .data = 2, .zero = 3, .is_ring = true},
        {.context = 2, .tensor = 2, .zero = 1, .has_sequence = true, .is_ring = true},
        {.context = 2, .stages = 2, .is_ring = true, .recompute = RecomputeKind::full},
        {.context = 3, .tensor = 2, .zero = 3, .is_ring = true},
        {.context = 3, .data = 2, .zero = 2, .is_ring = true, .recompute = RecomputeKind::selective},
        {.context = 2, .tensor = 2, .stages = 2, .zero = 2, .has_sequence = true, .is_ring = true},
        {.context = 4, .data = 2, .zero = 3, .is_ring = true, .recompute = RecomputeKind::selective},
        {.context = 3, .data = 2, .tensor = 2, .zero = 2, .is_ring = true},
        {.context = 2},
        {.context = 2, .zero = 3, .recompute = RecomputeKind::full},
        {.context = 3, .zero = 1, .recompute = RecomputeKind::selective},
        {.context = 4, .zero = 2},
        {.context = 2, .data = 2, .zero = 3},
        {.context = 2, .tensor = 2, .zero = 1, .has_sequence = true},
        {.context = 2, .stages = 2, .recompute = RecomputeKind::full},
        {.context = 3, .tensor = 2, .zero = 3},
        {.context = 2, .tensor = 2, .stages = 2, .zero = 2, .has_sequence = true},
        {.context = 4, .data = 2, .zero = 3, .recompute = RecomputeKind::selective},
        {.context = 3, .data = 2, .tensor = 2, .zero = 2},
        {.tensor = 2, .has_pieces = true},
        {.tensor = 2, .has_sequence = true, .has_pieces = true, .recompute = RecomputeKind::full},
        {.tensor = 3, .has_pieces = true, .recompute = RecomputeKind::selective},
        {.tensor = 3, .has_sequence = true, .has_pieces = true},
        {.tensor = 4, .has_sequence = true, .has_pieces = true, .recompute = RecomputeKind::selective},
        {.tensor = 2, .stages = 2, .has_sequence = true, .has_pieces = true},
        {.data = 2, .tensor = 4, .zero = 3, .has_sequence = true, .has_pieces = true},
        {.context = 2, .tensor = 3, .zero = 1, .has_pieces = true},
        {.context = 2, .tensor = 3, .stages = 2, .has_sequence = true, .has_pieces = true},
        {.data = 2, .zero = 3, .tiles = 5, .recompute = RecomputeKind::full},
        {.tensor = 2, .has_sequence = true, .tiles = 3, .recompute = RecomputeKind::full},
        {.context = 3, .zero = 2, .tiles = 2, .recompute = RecomputeKind::selective},
        {.context = 2, .zero = 1, .is_ring = true, .tiles = 3, .recompute = RecomputeKind::full},
        {.tensor = 2, .stages = 2, .tiles = 4, .recompute = RecomputeKind::full},
        {.tensor = 2, .rows = 2},
        {.tensor = 2, .rows = 2, .recompute = RecomputeKind::selective},
        {.tensor = 2, .rows = 2, .recompute = RecomputeKind::full},
        {.tensor = 2, .zero = 3, .rows = 2, .depth = 2},
        {.data = 2, .tensor = 2, .zero = 2, .rows = 2, .recompute = RecomputeKind::full},
        {.tensor = 2, .stages = 2, .rows = 2, .recompute = RecomputeKind::selective},
        {.tensor = 2, .stages = 3, .zero = 1, .rows = 2},
        {.tensor = 2, .rows = 2, .depth = 2, .is_cube = true},
        {.tensor = 2, .rows = 2, .depth = 2, .is_cube = true, .recompute = RecomputeKind::selective},
        {.tensor = 2, .zero = 2, .rows = 2, .depth = 2, .is_cube = true, .recompute = RecomputeKind::full},
        {.context = 2, .tensor = 2, .rows = 2},
        {.context = 2, .tensor = 2, .zero = 3, .is_ring = true, .rows = 2, .recompute = RecomputeKind::full},
        {.context = 3, .tensor = 2, .zero = 1, .rows = 2, .recompute = RecomputeKind::selective},
        {.context = 3, .tensor = 2, .zero = 2, .is_ring = true, .rows = 2},
        {.context = 2, .tensor = 2, .zero = 1, .rows = 2, .depth = 2, .is_cube = true},
        {.context = 2,
         .tensor = 2,
         .is_ring = true,
         .rows = 2,
         .depth = 2,
         .is_cube = true,
         .recompute = RecomputeKind::selective},
        {.context = 2, .zero = 2, .is_ring = true, .has_pairs = true},
        {.context = 2, .has_pairs = true},
        {.context = 3, .zero = 3, .is_ring = true, .recompute = RecomputeKind::full, .has_pairs = true},
        {.context = 3, .zero = 1, .has_pairs = true},
        {.context = 2, .tensor = 2, .zero = 1, .has_sequence = true, .is_ring = true, .has_pairs = true},
        {.context = 2, .data = 2, .zero = 3, .has_pairs = true},
        {.context = 2, .stages = 2, .is_ring = true, .has_pairs = true},
        {.context = 2, .tensor = 2, .is_ring = true, .rows = 2, .has_pairs = true},
        {.tensor = 2, .rows = 2, .has_pairs = true},
        {.tensor = 2, .stages = 2, .rows = 2, .recompute = RecomputeKind::full, .has_pairs = true},
        {.tensor = 2, .rows = 2, .depth = 2, .is_cube = true, .has_pairs = true},
        {.tensor = 2, .rows = 2, .has_adapters = true},
        {.data = 2,
         .tensor = 2,
         .zero = 3,
         .rows = 2,
         .recompute = RecomputeKind::full,
         .has_adapters = true},
        {.tensor = 2, .rows = 2, .depth = 2, .is_cube = true, .has_adapters = true},
        {.tensor = 2, .rows = 2, .has_adapters = true, .weight_tiles = 2},
        {.tensor = 2,
         .zero = 3,
         .rows = 2,
         .depth = 2,
         .is_cube = true,
         .recompute = RecomputeKind::full,
         .has_adapters = true,
         .weight_tiles = 2},
        {.tensor = 2, .has_sequence = true, .has_pieces = true, .has_adapters = true, .weight_tiles = 2},
        {.tensor = 2, .rows = 2, .weight_tiles = 2},
        {.data = 2, .tensor = 2, .zero = 3, .rows = 2, .recompute = RecomputeKind::full, .weight_tiles = 2},
        {.tensor = 2, .zero = 3, .rows = 2, .depth = 2, .is_cube = true, .weight_tiles = 2},
        {.tensor = 2, .has_pieces = true, .rows = 2, .depth = 2, .is_cube = true},
        {.tensor = 2,
         .zero = 2,
         .has_pieces = true,
         .rows = 2,
         .depth = 2,
         .is_cube = true,
         .recompute = RecomputeKind::full},
        {.tensor = 2, .tiles = 3, .rows = 2, .recompute = RecomputeKind::full},
        {.tensor = 2, .tiles = 4, .rows = 2, .has_adapters = true},
        {.tensor = 2, .zero = 3, .tiles = 3, .rows = 2, .depth = 2, .is_cube = true},
        {.tensor = 2, .tiles = 2, .rows = 2, .depth = 2, .is_cube = true, .recompute = RecomputeKind::full},
        {.tensor = 2, .rows = 2, .has_host_lookups = true},
        {.tensor = 2, .zero = 3, .rows = 2, .depth = 2, .is_cube = true, .has_host_lookups = true},
    };
}

/// Returns a run whose heads 2, 3 and 4 context ranks of two tensor ranks divide.
///
/// Ranks of llama share key heads. Documents of llama and gemma2 cross the parts of the ranks.
spec::RunSpec run_of(const std::string& family, const Layout& layout, std::int64_t micro) {
    auto run = test::tiny_run(family, layout.data, micro,
                              samples / (layout.data * layout.rows * layout.depth) / micro);
    run.train.global_batch = samples;
    run.model.layers = 3;
    run.model.heads = 24;
    run.model.head_dim = 4;
    run.model.hidden = 96;
    run.model.ffn_hidden = 60;
    const int shared = test::world().size() % 3 == 0 ? 6 : 2;  // of three context ranks, each has its own
    run.model.kv_heads = family == "llama" ? shared : family == "gemma2" ? 12 : 24;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.model.max_seq = 24;
    run.model.window = run.model.window > 0 ? 9 : 0;
    run.data.seq = 24;
    run.data.reset_at_document = family == "llama" || family == "gemma2";
    run.parallel.context = layout.context;
    run.parallel.context_kind = layout.is_ring ? spec::ContextKind::ring : spec::ContextKind::ulysses;
    run.parallel.data = layout.data * layout.context * layout.depth;
    run.parallel.tensor = layout.tensor;
    run.parallel.tensor_rows = layout.rows;
    run.parallel.tensor_depth = layout.depth;
    run.parallel.tensor_mode = layout.is_cube ? spec::TensorMode::three_d : spec::TensorMode::one_d;
    run.parallel.sequence = layout.has_sequence;
    run.overlap.tensor_pieces = layout.has_pieces;
    run.tiers.sequence_tiles = layout.tiles;
    run.tiers.embedding_on_host = layout.has_host_lookups;
    if (layout.weight_tiles > 1) {
        run.tiers.tiles = {{.match = "*", .in = 1, .out = layout.weight_tiles}};
    }
    run.parallel.stages = layout.stages;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    const int span = run.parallel.data;
    const int whole = layout.is_cube ? layout.depth : 1;
    run.sharding.optimizer = layout.zero >= 1 ? span : whole;
    run.sharding.gradients = layout.zero >= 2 ? span : whole;
    run.sharding.parameters = layout.zero >= 3 ? span : whole;
    run.sharding.sum_group = span;
    run.debug.nodes = layout.nodes;
    run.recompute.kind = layout.recompute;
    run.train.steps = 4;
    if (layout.has_adapters) {
        run.model.lora = {.rank = 3, .alpha = 5, .targets = {"*"}};
        run.train.only = layout::patterns_of_adapters();
    }
    return layout.has_pairs ? test::with_pairs(run) : run;
}

/// Checks the evaluated losses of world rank 0, which has the rows of the first context rank.
void expect_same_evaluation(const spec::RunSpec& run, const TinyOutcome& ours, const TinyOutcome& alone) {
    if (run.parallel.stages > 1) {
        return;  // another rank has the head
    }
    const auto rows = layout::context_rows(run.parallel, 0, run.data.seq);
    ASSERT_EQ(std::ssize(ours.evaluated), run.train.micro_batch * rows.size);
    for (std::int64_t i = 0; i < std::ssize(ours.evaluated); ++i) {
        const auto position = i / rows.size * run.data.seq + rows.position(i % rows.size);
        EXPECT_NEAR(ours.evaluated[static_cast<std::size_t>(i)],
                    alone.evaluated.at(static_cast<std::size_t>(position)), 1e-3)
            << "row " << i;
    }
}

std::vector<std::string> families() {
    return {"gpt2", "llama", "gemma2", "olmo2"};
}

/// Returns the sizes of micro-batches of a family in the layout number `tried` of this number of ranks.
std::vector<std::int64_t> micro_batches(const std::string& family, int tried) {
    if (test::tries_all_cases()) {
        return {1, 2};
    }
    const auto all = families();
    const auto number = std::ranges::find(all, family) - all.begin();
    return {1 + (tried + number) % 2};
}

/// Returns false for layouts of many ranks on emulated GPUs that need no kernels besides those of fewer
/// ranks.
bool is_tried(const Layout& layout) {
    return layout.ranks() < 8 || layout.is_cube || test::device_kind_for_tests() != spec::DeviceKind::cuda;
}

class Advanced : public ::testing::TestWithParam<std::string> {};

TEST_P(Advanced, LayoutsTrainAsOneRankDoes) {
    const auto& world = test::world();
    const auto myself = world.group().split(world.rank());
    std::map<std::pair<bool, bool>, TinyOutcome> references;  // by Layout::has_pairs and has_adapters
    int tried = 0;
    for (const auto& layout : layouts()) {
        if (layout.ranks() != world.size() || !is_tried(layout)) {
            continue;
        }
        for (const std::int64_t micro : micro_batches(GetParam(), tried++)) {
            SCOPED_TRACE(layout.text() + ", micro-batch " + std::to_string(micro));
            const auto run = run_of(GetParam(), layout, micro);
            const auto ours = test::train_tiny(run, world, Keep::tensors);
            if (world.rank() == 0) {
                auto& alone = references[{layout.has_pairs, layout.has_adapters}];
                if (alone.losses.empty()) {
                    const Layout one{.has_pairs = layout.has_pairs, .has_adapters = layout.has_adapters};
                    alone = test::train_tiny(run_of(GetParam(), one, 4), world.in(myself), Keep::tensors);
                }
                test::expect_class_b(ours, alone);
                expect_same_evaluation(run, ours, alone);
            }
            comm::barrier(world);
        }
    }
    EXPECT_GT(tried, 0);
}

// Columns of 18 channels: one group of four channels, which dropout draws together, is in both.
TEST(AdvancedDropout, ColumnsOfAGridShareAGroupOfChannels) {
    const auto& world = test::world();
    if (world.size() != 4) {
        GTEST_SKIP() << "the grid has 4 ranks";
    }
    auto run = test::tiny_run("gpt2", 2, 2, 2);
    ASSERT_EQ(run.model.hidden / 2 % 4, 2);
    ASSERT_GT(run.model.dropout, 0);
    run.parallel.tensor = run.parallel.tensor_rows = 2;
    run.parallel.data = run.sharding.sum_group = 1;
    run.parallel.ranks = run.parallel.ranks_per_node = 4;
    const auto myself = world.group().split(world.rank());
    const auto ours = test::train_tiny(run, world, Keep::tensors);
    if (world.rank() == 0) {
        test::expect_class_b(
            ours, test::train_tiny(test::tiny_run("gpt2", 1, 4, 2), world.in(myself), Keep::tensors));
    }
    comm::barrier(world);
}

INSTANTIATE_TEST_SUITE_P(Families, Advanced, ::testing::ValuesIn(families()), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
