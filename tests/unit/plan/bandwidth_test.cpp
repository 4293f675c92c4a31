#include "plan/report/bandwidth.hpp"

#include <gtest/gtest.h>

#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::Home;

/// Returns a trillion parameters on the sixteen devices of a DGX-2, as in the paper's examples.
spec::RunSpec trillion() {
    auto spec = test::small_spec("gpt2", 16);
    spec.model.layers = 128;
    spec.model.hidden = 25600;
    spec.model.heads = 256;
    spec.model.kv_heads = 256;
    spec.model.head_dim = 100;
    spec.model.ffn_hidden = 4 * 25600;
    spec.model.vocab = spec.model.vocab_padded = 50304;
    spec.model.max_seq = spec.data.seq = 1024;
    spec.train.micro_batch = 2;
    spec.train.micro_batches = 1;
    spec.precision.compute = spec::DType::bf16;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.sharding = {16, 16, 16, 0, spec::ReducePlan::each_microbatch, 16};
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = Home{0, 0, 1};
    spec.tiers.activations = Home{0, 1, 0};
    return spec;
}

constexpr double peak = 70e12;

TEST(Bandwidths, AreThoseOfTheEquations) {
    const auto rows = bandwidths(trillion(), {.has_device = true, .device_flops = peak});

    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0].kind, "parameters");
    EXPECT_DOUBLE_EQ(rows[0].flops_per_byte, 2048);
    EXPECT_DOUBLE_EQ(rows[0].for_half, peak / 2048 / 16);
    EXPECT_DOUBLE_EQ(rows[0].for_most, 9 * peak / 2048 / 16);
    EXPECT_DOUBLE_EQ(rows[0].has, 0);
    EXPECT_DOUBLE_EQ(rows[2].flops_per_byte, 512);
    // All ranks together at two sequences each: the paper states nearly 1.5 TB/s.
    EXPECT_NEAR(16 * rows[2].for_most, 1.2e12, 0.05e12);
    EXPECT_DOUBLE_EQ(rows[3].flops_per_byte, 24 * 25600);
    EXPECT_LT(rows[3].for_half, 1e9) << "checkpoints of wide models ask for less than 1 GB/s";
}

TEST(Bandwidths, AreHeldAgainstTheMachines) {
    const spec::MachineSpec machine{.has_device = true,
                                    .nvme_read_rate = 32e9,
                                    .nvme_write_rate = 16e9,
                                    .host_to_device_rate = 3e9,
                                    .device_to_host_rate = 3e9,
                                    .device_flops = peak};
    auto spec = trillion();
    spec.parallel.ranks_per_node = 16;

    const auto rows = bandwidths(spec, machine);
    EXPECT_DOUBLE_EQ(rows[0].has, 2e9);
    EXPECT_DOUBLE_EQ(rows[0].efficiency, 2e9 / (2e9 + rows[0].for_half));
    EXPECT_DOUBLE_EQ(rows[2].has, 2 / (1 / 32e9 + 1 / 16e9) / 16);
    EXPECT_DOUBLE_EQ(rows[3].has, 3e9);

    spec.tiers.parameters = Home{0.75, 0.25, 0};
    const auto quarter = bandwidths(spec, machine);
    EXPECT_DOUBLE_EQ(quarter[0].for_half, rows[0].for_half / 4);
    EXPECT_DOUBLE_EQ(quarter[0].has, 3e9);
    spec.tiers.optimizer = Home{0, 1, 0};
    EXPECT_EQ(bandwidths(spec, machine).size(), 3u) << "it is updated on the host";
}

TEST(WorkingMemory, IsThatOfTheAnalysis) {
    const auto spec = trillion();
    const auto min = working_memory(spec);

    EXPECT_EQ(min.model_state, 4 * spec.model.hidden * 4 * spec.model.hidden);
    EXPECT_EQ(min.activations, 2 * 2 * 1024 * (16 * spec.model.hidden + 2 * spec.model.heads * 1024));
}

TEST(InfinityTables, AreThereWhereSomethingIsAway) {
    const auto text = infinity_tables(trillion(), {.has_device = true, .device_flops = peak}, {});
    EXPECT_NE(text.find("BANDWIDTH  per rank, required by"), std::string::npos) << text;
    EXPECT_NE(text.find("  optimizer    nvme "), std::string::npos) << text;
    EXPECT_NE(text.find("MSWM   weights and gradient of a product of "), std::string::npos) << text;

    EXPECT_EQ(infinity_tables(test::small_spec(), {}, {}), "");
}

}  // namespace
}  // namespace ziggurat::plan
