/// Ring attention in two levels: context ranks on several nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "layout/context/inner_ring.hpp"
#include "layout/mesh.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/context_volumes.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/ring_trace.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/context/ring_spec.hpp"

namespace ziggurat::schedule {
namespace {

struct Levels {
    int nodes, inner;

    int ranks() const { return nodes * inner; }
};

constexpr Levels all_levels[] = {{2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}, {3, 3}};

spec::RunSpec on_nodes(const Levels& levels, std::int64_t window = 0) {
    auto spec = test::on_a_ring(levels.ranks(), levels.inner);
    spec.data.seq = spec.model.max_seq = 6L * levels.ranks();
    spec.model.window = window;
    return spec;
}

TEST(ContextLevels, SendWithinAndBetweenNodesWhatTheClosedFormsSay) {
    for (const auto& levels : all_levels) {
        const auto [nodes, inner] = levels;
        const auto spec = on_nodes(levels);
        const std::int64_t element_bytes = spec.precision.compute == spec::DType::f32 ? 4 : 2;
        for (int rank = 0; rank < levels.ranks(); ++rank) {
            const auto program = build_program(spec, rank, Variant::train);
            const auto near = test::bytes_sent(program, "ring");
            const auto far = test::bytes_sent(program, "ring between nodes");
            const int node = rank / inner;
            const int index = rank % inner;
            // Later nodes need only the first block of a rank, and no rank that of the sequence's end.
            const auto wrapped = nodes - 1 - node;
            const auto keys_near = (inner - 1) * (2 + node + 2 * wrapped) - (index + 1 < inner ? 1 : 0);
            const auto gradients_near = inner * (2 + node + 2 * wrapped) - 1;
            const auto keys_far = 2 * (nodes - 1) - (node + 1 < nodes ? 1 : 0);
            const auto gradients_far = node + 2 * wrapped;

            // Forward and backward of two layers.
            const auto block = test::block_elements(spec);
            EXPECT_EQ(near.keys, 2 * 2 * keys_near * block * element_bytes) << nodes << " x " << inner;
            EXPECT_EQ(near.gradients, 2 * gradients_near * block * 4) << nodes << " x " << inner;
            EXPECT_EQ(far.keys, 2 * 2 * keys_far * block * element_bytes) << nodes << " x " << inner;
            EXPECT_EQ(far.gradients, 2 * gradients_far * block * 4) << nodes << " x " << inner;
            const auto formula = context_bytes_by_formula(spec, ModelLayout{spec, rank});
            EXPECT_EQ(near.keys + near.gradients, formula.of_ring);
            EXPECT_EQ(far.keys + far.gradients, formula.between_nodes);
        }
    }
}

TEST(ContextLevels, SendLessBetweenNodesThanOneRing) {
    auto one = on_nodes({2, 4});
    one.parallel.ranks_per_node = 1;  // one rank on each node: no levels
    const auto spec = on_nodes({2, 4});
    std::int64_t far = 0;
    for (int rank = 0; rank < 8; ++rank) {
        far += context_bytes_by_formula(spec, ModelLayout{spec, rank}).between_nodes;
    }
    // In one ring, the last ranks of both nodes send to the next node.
    const auto of_one = context_bytes_by_formula(one, ModelLayout{one, 3}).total() +
                        context_bytes_by_formula(one, ModelLayout{one, 7}).total();
    EXPECT_LT(far, of_one);
}

TEST(ContextLevels, PostMessagesToTheNextNodeBeforeTheRoundsOfATurn) {
    const auto spec = on_nodes({3, 2});
    const auto program = build_program(spec, 0, Variant::train);
    int num_turns = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        if (op.kind != OpKind::send || program.groups[op.group].name != "ring between nodes" ||
            op.direction != Direction::forward) {
            continue;
        }
        ++num_turns;
        const auto is_round = [](const Op& other) {
            return other.kind == OpKind::compute && other.peer >= 0;
        };
        const auto round =
            std::find_if(program.ops.begin() + static_cast<std::ptrdiff_t>(i), program.ops.end(), is_round);
        // The round reads the keys that the message sends.
        const auto* keys = program.find_read(*round, Role::kv);
        ASSERT_NE(keys, nullptr);
        EXPECT_EQ(keys->buffer, op.reads.front().buffer) << op.label;
    }
    EXPECT_EQ(num_turns, 2 * 2) << "two turns of two layers";
}

/// Checks programs of all ranks: bytes per link, origins of all blocks, and the simulation.
void expect_right(const spec::RunSpec& spec, const std::string& what, int seeds) {
    const auto programs = test::programs_of_all_ranks(spec);
    for (const auto& program : programs) {
        const auto near = test::bytes_sent(program, "ring");
        const auto far = test::bytes_sent(program, "ring between nodes");
        const auto formula = context_bytes_by_formula(spec, ModelLayout{spec, program.rank});
        EXPECT_EQ(near.keys + near.gradients, formula.of_ring) << what << ", rank " << program.rank;
        EXPECT_EQ(far.keys + far.gradients, formula.between_nodes) << what << ", rank " << program.rank;
    }
    test::RingTrace trace{spec, programs};
    EXPECT_EQ(trace.run(), "") << what;
    EXPECT_GT(trace.num_rounds(), 0) << what;
    const ExpectedResults truth{spec};
    for (int seed = 1; seed <= seeds; ++seed) {
        EXPECT_EQ(simulate(programs, &truth, {.seed = static_cast<std::uint64_t>(seed)}).report(), "")
            << what;
    }
}

TEST(ContextLevels, AddAllGradientsOnceUnderEveryOrderOfLanes) {
    for (const auto& levels : all_levels) {
        for (const std::int64_t window : {0, 1, 2, 5, 9, 14}) {
            auto spec = on_nodes(levels, window);
            spec.data.reset_at_document = window % 2 == 0;
            expect_right(spec,
                         std::to_string(levels.nodes) + " x " + std::to_string(levels.inner) + ", window " +
                             std::to_string(window),
                         3);
        }
    }
}

TEST(ContextLevels, SkipBlocksOutsideOfAllWindows) {
    // Blocks of three positions: only the next block attends to one.
    const auto whole = on_nodes({2, 4});
    const auto spec = on_nodes({2, 4}, 3);
    // Node 0 has blocks 0 to 3 and 12 to 15: of its keys, the other node's queries need only those of block
    // 3, which rank 3 has. The gradients of block 5, which rank 1 could return, come from its own node.
    const ModelLayout second{spec, 1};
    EXPECT_LT(context_bytes_by_formula(spec, second).of_ring,
              context_bytes_by_formula(whole, ModelLayout{whole, 1}).of_ring);
    EXPECT_EQ(context_bytes_by_formula(spec, second).between_nodes, 0);
    EXPECT_GT(context_bytes_by_formula(spec, ModelLayout{spec, 3}).between_nodes, 0);
    for (const auto& op : build_program(spec, 1, Variant::train).ops) {
        EXPECT_TRUE(op.kind != OpKind::compute || op.peer < 0 || op.flops > 0) << op.label;
    }
}

/// Returns a random run whose context ranks are multiplied by `nodes`, in two levels.
spec::RunSpec on_several_nodes(spec::RunSpec spec, int nodes) {
    auto& parallel = spec.parallel;
    const int inner = parallel.context;
    parallel.context *= nodes;
    parallel.data *= nodes;
    parallel.ranks *= nodes;
    parallel.ranks_per_node =
        layout::Mesh{parallel}.neighbour(spec::Axis::context, 0, 1) * inner;  // the stride of the axis
    spec.data.seq *= nodes;
    spec.model.max_seq += spec.data.seq;
    return spec;
}

TEST(ContextLevels, AreRightInRandomRuns) {
    int tried = 0;
    for (std::uint64_t seed = 0; tried < 24; ++seed) {
        const auto drawn = test::random_spec(seed, {.max_ranks = 6});
        if (drawn.parallel.context == 1 || drawn.parallel.context_kind != spec::ContextKind::ring) {
            continue;
        }
        ++tried;
        const auto spec = on_several_nodes(drawn, 2 + static_cast<int>(seed % 2));
        ASSERT_EQ(layout::inner_ring(spec), drawn.parallel.context) << test::described(spec);
        expect_right(spec, "seed " + std::to_string(seed) + ": " + test::described(spec), 1);
    }
}

}  // namespace
}  // namespace ziggurat::schedule
