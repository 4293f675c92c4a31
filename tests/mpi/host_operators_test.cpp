/// Class A of operators: a lookup on the host leaves the bits alone, and the table off the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using schedule::Link;
using schedule::PayloadKind;

/// Checks that only activations of the embedding cross the link: its output, and the gradient of that.
void check_moves(const spec::RunSpec& run, const Assembly& assembly) {
    const auto program = schedule::build_program(run, test::world().rank(), schedule::Variant::train);
    const auto is_table_on_device = [](const schedule::Buffer& buffer) {
        return buffer.unit == 0 && buffer.state != schedule::StateKind::none &&
               buffer.tier == spec::Tier::device;
    };
    EXPECT_EQ(std::ranges::any_of(program.buffers, is_table_on_device), run.model.tie_embeddings);
    const auto activations = schedule::bytes_by_payload(program)[PayloadKind::activations];
    const auto width = run.model.hidden / run.parallel.tensor;  // 1 or the columns of a grid
    const auto bytes = run.train.micro_batches * run.train.micro_batch * run.data.seq * width * 4;
    EXPECT_EQ(activations[Link::host_to_device], bytes);
    EXPECT_EQ(activations[Link::device_to_host], bytes);
    const auto planned = schedule::bytes_by_link(program);
    const auto moved = assembly.bytes_by_link();
    for (const auto link : {Link::host_to_device, Link::device_to_host}) {
        EXPECT_EQ(moved[link], run.train.steps * planned[link]) << to_string(link);
    }
}

class HostOperators : public ::testing::TestWithParam<std::string> {};

TEST_P(HostOperators, LeaveTheBitsAloneAndTheTableOffTheDevice) {
    const int ranks = test::world().size();
    for (const int zero : {0, 2, 3}) {
        for (const bool is_tied : {false, true}) {
            SCOPED_TRACE("zero " + std::to_string(zero) + (is_tied ? ", tied" : ""));
            auto run = test::tiny_run(GetParam(), ranks, 2, 3);
            run.model.tie_embeddings = is_tied;
            run.sharding.reduce = spec::ReducePlan::each_microbatch;
            run.sharding.parameters = zero == 3 ? ranks : 1;
            run.sharding.gradients = run.sharding.optimizer = zero >= 2 ? ranks : 1;
            const auto expected = test::train_on_host(run, test::world());

            run.tiers.embedding_on_host = true;
            const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing,
                                               [&](const Assembly& assembly) { check_moves(run, assembly); });

            EXPECT_EQ(ours.losses, expected.losses);
            EXPECT_EQ(ours.norms, expected.norms);
            EXPECT_EQ(ours.weights_hash, expected.weights_hash);
            EXPECT_EQ(ours.evaluated, expected.evaluated);
        }
    }
}

/// The ranks of a column send each other the blocks of the table from host to host.
TEST_P(HostOperators, LeaveTheBitsAloneOnAGrid) {
    const int ranks = test::world().size();
    if (ranks != 4) {
        GTEST_SKIP() << "four ranks are a grid";
    }
    for (const auto recompute : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
        auto run = test::tiny_run(GetParam(), 2, 2, 3);
        run.model.tie_embeddings = false;
        run.parallel.ranks = run.parallel.ranks_per_node = ranks;
        run.parallel.tensor = run.parallel.tensor_rows = 2;
        run.parallel.tensor_mode = spec::TensorMode::two_d;
        run.parallel.data = run.sharding.sum_group = 1;
        run.recompute.kind = recompute;
        const auto expected = test::train_on_host(run, test::world());

        run.tiers.embedding_on_host = true;
        const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing,
                                           [&](const Assembly& assembly) { check_moves(run, assembly); });

        EXPECT_EQ(ours.losses, expected.losses);
        EXPECT_EQ(ours.norms, expected.norms);
        EXPECT_EQ(ours.weights_hash, expected.weights_hash);
        EXPECT_EQ(ours.evaluated, expected.evaluated);
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         HostOperators,
                         ::testing::Values("gpt2", "llama", "gemma"),
                         [](const auto& made) { return made.param; });

}  // namespace
}  // namespace ziggurat::train
