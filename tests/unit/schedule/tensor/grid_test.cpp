/// Products of a grid of tensor ranks: what their programs compute, and the bytes that they send.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/volumes/all_axes.hpp"
#include "schedule/volumes/grid_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec on_grid(const std::string& family, int side, int data = 1) {
    auto spec = test::small_spec(family, data);
    auto& model = spec.model;
    model.heads = model.kv_heads = 6;
    model.head_dim = 6;
    model.hidden = 36;
    model.ffn_hidden = 36;
    model.vocab_padded = 66;
    spec.parallel.tensor = spec.parallel.tensor_rows = side;
    spec.parallel.tensor_mode = spec::TensorMode::two_d;
    spec.parallel.ranks = side * side * data;
    spec.train.global_batch *= side;
    spec.data.seq = 18;  // both sides divide the sizes of all blocks
    return spec;
}

std::int64_t tensor_bytes(const spec::RunSpec& spec, int rank = 0) {
    return bytes_sent_by_purpose(build_program(spec, rank, Variant::train))[Purpose::tensor];
}

TEST(Grid, ComputesWhatWasAskedFor) {
    for (const char* family : {"gpt2", "llama", "gpt_neox", "olmo2", "qwen3"}) {
        for (const int side : {2, 3}) {
            auto spec = on_grid(family, side, 2);
            spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = 2;
            spec.sharding.reduce = spec::ReducePlan::each_microbatch;
            const auto programs = test::programs_of_all_ranks(spec);
            for (const auto& program : programs) {
                const auto findings = check_program(program);
                ASSERT_TRUE(findings.empty()) << family << ": " << findings.front().text;
            }
            const ExpectedResults truth{spec};
            EXPECT_EQ(simulate(programs, &truth, {}).report(), "") << family << ", side " << side;
        }
    }
}

// Broadcasts and reductions of a product: with A blocks of weights, of outputs and of their gradients among
// q ranks, 6 (q - 1)/q q A, less (q - 1) A for the gradient of the output, which is broadcast one time.
TEST(Grid, MovesTheBlocksOfSummaForEachProduct) {
    for (const int side : {2, 3}) {
        auto spec = on_grid("gpt2", side);
        spec.model.layers = 2;
        const auto more = tensor_bytes(spec);
        spec.model.layers = 1;
        const auto of_layer = more - tensor_bytes(spec);

        const std::int64_t hidden = 36 / side;
        const std::int64_t ffn = 36 / side;
        const std::int64_t tokens = 2 * 18;
        const std::int64_t weights = 3 * hidden * hidden + hidden * hidden + 2 * hidden * ffn;
        const std::int64_t outputs = tokens * (3 * hidden + hidden + ffn + hidden);
        const std::int64_t norms = 2 * 2 * (2 * 2 * tokens);  // forward and backward; two sums; two norms
        const std::int64_t microbatches = 2;
        EXPECT_EQ(of_layer,
                  microbatches * 4 * ((side - 1) * (3 * weights + 2 * outputs) + norms * (side - 1) / side));
    }
}

// Colossal-AI's table of bandwidths, for batches whose activations are larger than the weights.
TEST(Grid, OrdersModesOnSixtyFourRanksAsTheirTable) {
    const auto bytes = [](int tensor, int rows, int depth) {
        auto spec = test::small_spec("gpt2");
        auto& model = spec.model;
        model.heads = model.kv_heads = 64;
        model.head_dim = 8;
        model.hidden = 512;
        model.ffn_hidden = 2048;
        model.vocab = model.vocab_padded = 1024;
        model.max_seq = spec.data.seq = 256;
        auto& parallel = spec.parallel;
        parallel.tensor = tensor;
        parallel.tensor_rows = rows;
        parallel.tensor_depth = parallel.data = depth;
        parallel.ranks = 64;
        spec.train.micro_batch = 64 / (rows * depth);
        spec.train.micro_batches = 1;
        spec.train.global_batch = 64;
        return bytes_by_formula(spec, ModelLayout{spec, 0})[Purpose::tensor];
    };
    const auto of_1d = bytes(64, 1, 1);
    const auto of_2d = bytes(8, 8, 1);
    const auto of_two_and_half_d = bytes(4, 4, 4);
    EXPECT_LT(of_two_and_half_d, of_2d);
    EXPECT_LT(of_2d, of_1d);
}

TEST(Grid, KeepsAPartOfEachActivationAndWeight) {
    const auto bytes = [](const Program& program, MemoryCategory category) {
        std::int64_t sum = 0;
        for (const auto& buffer : program.buffers) {
            sum += buffer.consumer == category ? buffer.bytes : 0;
        }
        return sum;
    };
    auto alone = on_grid("gpt2", 3);
    alone.parallel = {};
    alone.model.layers = 4;
    auto spec = on_grid("gpt2", 3);
    spec.model.layers = 4;
    const auto whole = build_placed(alone, ModelLayout{alone, 0}, Variant::train);
    const auto part = build_placed(spec, ModelLayout{spec, 0}, Variant::train);

    // Vectors and the positions are divided over columns only. The rows of a micro-batch are those of one
    // row.
    const auto of_vectors = bytes(whole, MemoryCategory::parameters) / 10;
    EXPECT_LE(bytes(part, MemoryCategory::parameters),
              bytes(whole, MemoryCategory::parameters) / 9 + of_vectors);
    EXPECT_LE(bytes(part, MemoryCategory::activations),
              bytes(whole, MemoryCategory::activations) / 3 * 21 / 20);
}

TEST(Grid, SendsTheBytesOfTheFormulasInRandomRuns) {
    int grids = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 300);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        const auto spec =
            test::random_spec(static_cast<std::uint64_t>(seed), {.max_ranks = 18, .grids = true});
        if (!spec.parallel.has_grid()) {
            continue;
        }
        ++grids;
        for (const int rank : {0, spec.parallel.ranks - 1}) {
            const ModelLayout model{spec, rank};
            auto sent = bytes_sent_by_purpose(build_program(spec, rank, Variant::train));
            EXPECT_EQ(sent[Purpose::tensor], grid_bytes_by_formula(spec, model))
                << test::described(spec) << ", seed " << seed << ", rank " << rank;
            EXPECT_EQ(static_cast<double>(sent[Purpose::pipeline]),
                      bytes_by_formula(spec, model)[Purpose::pipeline])
                << test::described(spec) << ", seed " << seed << ", rank " << rank;
        }
    }
    EXPECT_GT(grids, count / 20);
}

}  // namespace
}  // namespace ziggurat::schedule
