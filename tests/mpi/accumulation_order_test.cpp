/// Class A of train.accumulate: by layer, a training has the bits of the order by micro-batch.
///
/// The exception is a tied table that is summed in place: its parts are added in another order (class B).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/pages.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/link_volumes.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::Home;
using spec::RecomputeKind;
using spec::ReducePlan;
using enum spec::AccumulationOrder;
using test::TinyOutcome;

constexpr Home host{0, 1, 0};
constexpr Home nvme{0, 0, 1};
constexpr Home shares{0.25, 0.35, 0.4};
constexpr std::int64_t micro_batches = 4;

struct Counted {
    TinyOutcome outcome;
    schedule::BytesByLink by_link{};
    schedule::BytesByPurpose by_purpose{};
};

Counted train(spec::RunSpec run, spec::AccumulationOrder order) {
    run.train.accumulate = order;
    Counted made;
    made.outcome = test::train_tiny(run, test::world(), test::Keep::tensors, [&](const Assembly& assembly) {
        made.by_link = assembly.bytes_by_link();
        made.by_purpose = assembly.bytes_moved();
    });
    const auto program = schedule::build_program(run, test::world().rank(), schedule::Variant::train);
    const auto planned = schedule::bytes_by_link(program);
    for (std::size_t link = 0; link < made.by_link.size(); ++link) {
        const auto spared =
            link == static_cast<std::size_t>(schedule::Link::nvme_read) ? schedule::moments_read(program) : 0;
        EXPECT_EQ(made.by_link[link], run.train.steps * planned[link] - spared)
            << to_string(static_cast<schedule::Link>(link));
    }
    return made;
}

void expect_same_bits(const TinyOutcome& ours, const TinyOutcome& expected) {
    EXPECT_EQ(ours.losses, expected.losses);
    EXPECT_EQ(ours.norms, expected.norms);
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.average_hash, expected.average_hash);
    EXPECT_EQ(ours.evaluated, expected.evaluated);
}

class OrderOfMicroBatches : public ::testing::TestWithParam<std::string> {
  protected:
    /// Returns a run whose sums over micro-batches have one order.
    static spec::RunSpec run_of(ReducePlan reduce) {
        auto run = test::tiny_run(GetParam(), test::world().size(), 2, micro_batches);
        run.model.layers = 3;
        run.sharding.reduce = reduce;
        run.model.tie_embeddings = run.model.tie_embeddings && reduce != ReducePlan::at_end;
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        return run;
    }

    static void set_zero(spec::RunSpec& run, int zero) {
        const int data = run.parallel.data;
        run.sharding.optimizer = zero >= 1 ? data : 1;
        run.sharding.gradients = zero >= 2 ? data : 1;
        run.sharding.parameters = zero == 3 ? data : 1;
    }

    static void expect_same_bits_by_layer(const spec::RunSpec& run) {
        expect_same_bits(train(run, by_layer).outcome, train(run, by_micro_batch).outcome);
    }
};

TEST_P(OrderOfMicroBatches, LeavesTheBitsForEachShardingSumPlanAndRecomputation) {
    for (const auto reduce : {ReducePlan::at_end, ReducePlan::each_microbatch, ReducePlan::by_span}) {
        for (int zero = 0; zero <= 3; ++zero) {
            auto run = run_of(reduce);
            set_zero(run, zero);
            run.overlap.prefetch = zero % 3;
            run.recompute = {zero == 0   ? RecomputeKind::none
                             : zero == 1 ? RecomputeKind::selective
                                         : RecomputeKind::full,
                             zero == 3 ? 2 : 1};
            SCOPED_TRACE("zero " + std::to_string(zero) + ", plan " +
                         std::to_string(static_cast<int>(reduce)));
            expect_same_bits_by_layer(run);
        }
    }
}

TEST_P(OrderOfMicroBatches, LeavesTheBitsForStateInAnyTier) {
    const test::ScratchFolder folder;
    for (const auto kind : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
        for (const auto& home : {host, nvme, shares}) {
            auto run = run_of(kind == RecomputeKind::none ? ReducePlan::at_end : ReducePlan::each_microbatch);
            set_zero(run, kind == RecomputeKind::full ? 3 : 0);
            run.recompute = {kind, kind == RecomputeKind::full && home == host ? 2 : 1};
            run.overlap.prefetch = kind == RecomputeKind::none ? 0 : 1;
            run.tiers.nvme_paths = {folder.path()};
            run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = run.tiers.activations = home;
            SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", nvme " + std::to_string(home.nvme));
            expect_same_bits_by_layer(run);
        }
    }
}

TEST_P(OrderOfMicroBatches, LeavesTheBitsOfTiles) {
    const test::ScratchFolder folder;
    for (const auto* match : {"mlp.*", "*"}) {
        auto run = run_of(ReducePlan::each_microbatch);
        set_zero(run, 3);
        run.tiers.nvme_paths = {folder.path()};
        run.tiers.parameters = nvme;
        run.tiers.activations = host;
        run.tiers.tiles = {{.match = match, .in = 1, .out = 3}};
        run.recompute.kind = RecomputeKind::full;
        SCOPED_TRACE(match);
        expect_same_bits_by_layer(run);
    }
}

TEST_P(OrderOfMicroBatches, LeavesTheBitsOfTensorRanksThatShareTokens) {
    const int ranks = test::world().size();
    if (ranks % 2 != 0) {
        return;
    }
    for (const bool sequence : {true, false}) {
        auto run = run_of(ReducePlan::each_microbatch);
        run.data.seq = 12;
        run.parallel.tensor = 2;
        run.parallel.data = ranks / 2;
        run.parallel.sequence = sequence;
        run.sharding.sum_group = run.parallel.data;
        run.train.global_batch = run.parallel.data * 2 * micro_batches;
        set_zero(run, 3);
        run.recompute.kind = RecomputeKind::full;
        run.recompute.split = !sequence;
        run.tiers.activations = host;
        expect_same_bits_by_layer(run);
    }
}

TEST_P(OrderOfMicroBatches, ByLayerAddsATiedTableUpInAnotherOrder) {
    auto run = run_of(ReducePlan::at_end);
    run.model.tie_embeddings = true;

    const auto ours = train(run, by_layer).outcome;
    const auto expected = train(run, by_micro_batch).outcome;

    EXPECT_EQ(ours.losses.front(), expected.losses.front());
    EXPECT_NE(ours.weights_hash, expected.weights_hash);
    test::expect_class_b(ours, expected);
}

TEST_P(OrderOfMicroBatches, ByLayerReadsAndGathersParametersAsForOneMicroBatch) {
    const test::ScratchFolder folder;
    auto run = run_of(ReducePlan::each_microbatch);
    set_zero(run, 3);
    run.tiers.nvme_paths = {folder.path()};
    run.tiers.parameters = nvme;
    const auto read_in_program = [&](std::int64_t microbatches) {
        auto planned = run;
        planned.train.micro_batches = microbatches;
        const auto program = schedule::build_program(planned, test::world().rank(), schedule::Variant::train);
        return schedule::bytes_by_link(program)[static_cast<std::size_t>(schedule::Link::nvme_read)];
    };
    const auto of_passes = read_in_program(2) - read_in_program(1);  // of one micro-batch
    ASSERT_GT(of_passes, 0);

    const auto by_layers = train(run, by_layer);
    const auto by_micro_batches = train(run, by_micro_batch);

    const auto link = static_cast<std::size_t>(schedule::Link::nvme_read);
    const auto fewer = by_micro_batches.by_link[link] - by_layers.by_link[link];
    const auto expected = run.train.steps * (micro_batches - 1) * of_passes;
    // On one rank, the head by layer also reads the page of its gain one time instead of two times.
    EXPECT_EQ(fewer, expected + (test::world().size() == 1 ? run.train.steps * page_bytes : 0));
    const auto purpose = static_cast<std::size_t>(schedule::Purpose::parameters);
    EXPECT_EQ(by_micro_batches.by_purpose[purpose], micro_batches * by_layers.by_purpose[purpose]);
    EXPECT_EQ(by_layers.by_purpose[purpose] > 0, test::world().size() > 1);
}

INSTANTIATE_TEST_SUITE_P(Families,
                         OrderOfMicroBatches,
                         ::testing::Values("gpt2", "llama"),
                         [](const auto& made) {
                             return std::string{made.param == "gpt2" ? "Gpt2" : "Llama"};
                         });

}  // namespace
}  // namespace ziggurat::train
