/// Products of a cube of tensor ranks: what their programs compute, and the bytes that they send.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/volumes/all_axes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns a run on `data` cubes of that side, whose layers divide parameters, gradients and moments.
spec::RunSpec on_cube(const std::string& family, int side, int data = 1) {
    auto spec = test::small_spec(family, data * side);
    auto& model = spec.model;
    model.heads = model.kv_heads = 6;
    model.head_dim = 4;
    model.hidden = 24;
    model.ffn_hidden = 36;
    model.vocab_padded = 66;
    spec.parallel.tensor = spec.parallel.tensor_rows = spec.parallel.tensor_depth = side;
    spec.parallel.tensor_mode = spec::TensorMode::three_d;
    spec.parallel.ranks = side * side * side * data;
    spec.train.global_batch *= side;
    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = side;
    return spec;
}

std::int64_t tensor_bytes(const spec::RunSpec& spec) {
    return bytes_sent_by_purpose(build_program(spec, 0, Variant::train))[Purpose::tensor];
}

void expect_complete(const spec::RunSpec& spec, const std::string& name) {
    const auto programs = test::programs_of_all_ranks(spec);
    for (const auto& program : programs) {
        const auto findings = check_program(program);
        ASSERT_TRUE(findings.empty()) << name << ": " << findings.front().text;
    }
    const ExpectedResults truth{spec};
    EXPECT_EQ(simulate(programs, &truth, {}).report(), "") << name;
}

TEST(Cube, ComputesWhatWasAskedFor) {
    for (const char* family : {"gpt2", "llama", "gpt_neox", "olmo2", "qwen3"}) {
        for (const auto kind :
             {spec::RecomputeKind::none, spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
            const int data = kind == spec::RecomputeKind::full ? 2 : 1;
            auto spec = on_cube(family, 2, data);
            spec.recompute.kind = kind;
            spec.sharding.optimizer = 2 * data;
            expect_complete(spec, family);
        }
    }
    expect_complete(on_cube("gpt2", 3), "side 3");
}

// Inputs are gathered in forward and backward; the gradient of the output is gathered; the output and the
// gradient of the input are reduced and scattered.
TEST(Cube, GathersAndScattersTheValuesOfEachProduct) {
    for (const int side : {2, 3}) {
        auto spec = on_cube("gpt2", side);
        spec.model.layers = 2;
        const auto more = tensor_bytes(spec);
        spec.model.layers = 1;
        const auto of_layer = more - tensor_bytes(spec);

        const std::int64_t hidden = 24 / side;
        const std::int64_t ffn = 36 / side;
        const std::int64_t tokens = 2 * 16;
        const std::int64_t inputs = tokens * (hidden + hidden + hidden + ffn);
        const std::int64_t outputs = tokens * (3 * hidden + hidden + ffn + hidden);
        const std::int64_t sums = 2 * tokens * 4;  // bytes of the two sums of a norm
        const std::int64_t norms = 2 * 2 * 2 * (sums - sums / side);
        const std::int64_t microbatches = 2;
        EXPECT_EQ(of_layer, microbatches * (4 * (side - 1) * (3 * inputs + 2 * outputs) + norms));
    }
}

TEST(Cube, CutsEachGatherAndSumOfForwardIntoPieces) {
    for (const int side : {2, 3}) {
        auto spec = on_cube("gpt2", side);
        const auto in_forward = [&] {
            std::int64_t count = 0;
            for (const auto& op : build_program(spec, 0, Variant::train).ops) {
                count += op.purpose == Purpose::tensor && op.direction == Direction::forward &&
                                 op.unit == 1 &&
                                 (op.kind == OpKind::all_gather || op.kind == OpKind::reduce_scatter)
                             ? 1
                             : 0;
            }
            return count;
        };
        const auto bytes = tensor_bytes(spec);
        const auto whole = in_forward();
        spec.overlap.tensor_pieces = true;
        EXPECT_EQ(whole, 2 * 2 * 4) << "two micro-batches, four products";
        EXPECT_EQ(in_forward(), side * whole);
        // bytes_sent() divides those of each collective by the members, and rounds up.
        const auto pieces = std::ranges::count_if(build_program(spec, 0, Variant::train).ops,
                                                  [](const Op& op) { return op.purpose == Purpose::tensor; });
        EXPECT_GE(tensor_bytes(spec), bytes);
        EXPECT_LE(tensor_bytes(spec), bytes + (side == 2 ? 0 : pieces));
        expect_complete(spec, "pieces, side " + std::to_string(side));
    }
}

// The table of 3D: each rank has a part of 1/q^3 of weights, gradients, moments and saved activations. Its
// 6 (q - 1)/q^3 bytes of a product are those of the next test, without what backward gathers again.
TEST(Cube, KeepsAPartOfEachActivationAndWeight) {
    const auto bytes = [](const Program& program, MemoryCategory category, Lifetime lifetime) {
        std::int64_t sum = 0;
        for (const auto& buffer : program.buffers) {
            sum += buffer.consumer == category && buffer.lifetime == lifetime ? buffer.bytes : 0;
        }
        return sum;
    };
    auto spec = on_cube("gpt2", 2);
    spec.model.layers = 4;
    spec.model.hidden = 96;
    spec.model.head_dim = 16;
    spec.model.ffn_hidden = 288;
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    auto alone = spec;
    alone.parallel = {};
    alone.sharding = {};
    const auto whole = build_placed(alone, ModelLayout{alone, 0}, Variant::train);
    const auto part = build_placed(spec, ModelLayout{spec, 0}, Variant::train);

    for (const auto category :
         {MemoryCategory::parameters, MemoryCategory::gradients, MemoryCategory::optimizer}) {
        const auto of_whole = bytes(whole, category, Lifetime::persistent);
        // Vectors are the same on all rows or all columns.
        EXPECT_LE(bytes(part, category, Lifetime::persistent), of_whole / 8 + of_whole / 100)
            << to_string(category);
    }
    // The sequences of a micro-batch on this rank are a quarter of those of the cube.
    const auto of_whole = bytes(whole, MemoryCategory::activations, Lifetime::transient);
    EXPECT_LE(bytes(part, MemoryCategory::activations, Lifetime::transient), of_whole / 2 * 21 / 20);
}

// With T tokens on a rank, weights of w elements on it and inputs and outputs of i and o, a product sends
// (q - 1) T (3 i + 2 o) and, of its weight in fp32, (q - 1)/q w for two gathers and a reduction.
TEST(Cube, SendsLessThanOtherModesIfActivationsAreAsLargeAsWeights) {
    const auto bytes = [](int tensor, int rows, int depth, spec::TensorMode mode) {
        auto spec = test::small_spec("gpt2");
        auto& model = spec.model;
        model.layers = 8;
        model.heads = model.kv_heads = 64;
        model.head_dim = 8;
        model.hidden = 512;
        model.ffn_hidden = 2048;
        model.vocab = model.vocab_padded = 1024;
        model.max_seq = spec.data.seq = 40;
        auto& parallel = spec.parallel;
        parallel.tensor_mode = mode;
        parallel.tensor = tensor;
        parallel.tensor_rows = rows;
        parallel.tensor_depth = parallel.data = depth;
        parallel.ranks = 64;
        spec.train.micro_batch = 64 / (rows * depth);
        spec.train.micro_batches = 1;
        spec.train.global_batch = 64;
        if (parallel.has_cube()) {
            spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = depth;
        }
        auto sent = bytes_by_formula(spec, ModelLayout{spec, 0});
        return sent[Purpose::tensor] + sent[Purpose::parameters] + sent[Purpose::gradients];
    };
    const auto of_1d = bytes(64, 1, 1, spec::TensorMode::one_d);
    const auto of_2d = bytes(8, 8, 1, spec::TensorMode::two_d);
    const auto of_two_and_half_d = bytes(4, 4, 4, spec::TensorMode::two_and_half_d);
    const auto of_3d = bytes(4, 4, 4, spec::TensorMode::three_d);
    EXPECT_LT(of_3d, of_two_and_half_d);
    EXPECT_LT(of_two_and_half_d, of_2d);
    EXPECT_LT(of_2d, of_1d);
}

}  // namespace
}  // namespace ziggurat::schedule
