/// Trainings with state on the host, fully, partly or not pinned: equal bits.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using emulated_cuda::Counted;
using emulated_cuda::num_calls;

/// Returns a run with parameters and optimizer state on the host.
spec::RunSpec run_with_state_on_the_host(spec::Transport transport) {
    const int ranks = test::world().size();
    auto run = test::tiny_run("gpt2", ranks, 2, 1);
    run.train.steps = 3;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.parameters = run.tiers.optimizer = {.device = 0, .host = 1, .nvme = 0};
    run.tiers.chunk_elements = 4096;
    run.parallel.transport = transport;
    return run;
}

/// Returns the outcome of a training, and the notes on rank 0. Checks that later steps make no
/// allocations.
std::pair<test::TinyOutcome, std::string> trained(const spec::RunSpec& run) {
    std::int64_t reserving = 0;
    test::TinyHooks hooks;
    hooks.after_step = [&](std::int64_t step) {
        reserving = step == 1 ? num_calls(Counted::reserving) : reserving;
        EXPECT_EQ(num_calls(Counted::reserving), reserving) << "step " << step;
        return true;
    };
    std::string notes;
    const auto poll_once = [&](const Assembly& assembly) {
        for (const auto& note : assembly.notes()) {
            notes += note + "\n";
        }
    };
    auto outcome = test::train_tiny(run, test::world(), test::Keep::nothing, poll_once, hooks);
    return {std::move(outcome), notes};
}

class Pinning : public ::testing::TestWithParam<spec::Transport> {};

TEST_P(Pinning, ChangesNoBits) {
    auto run = run_with_state_on_the_host(GetParam());
    const auto [all, nothing_said] = trained(run);
    EXPECT_EQ(nothing_said, "");
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{100'000}}) {
        run.tiers.pinned_bytes = bytes * test::world().size();
        const auto [part, printed] = trained(run);
        EXPECT_EQ(part.losses, all.losses) << bytes;
        EXPECT_EQ(part.weights_hash, all.weights_hash) << bytes;
        EXPECT_EQ(printed, "") << "it is what was asked for";
    }
}

/// The first pinned buffer serves copies between steps, which are impossible without it.
TEST_P(Pinning, GoesOnWithoutWhatTheSystemRefuses) {
    const auto run = run_with_state_on_the_host(GetParam());
    const auto expected = trained(run).first;
    emulated_cuda::set_faults("pin:2");
    const auto [refused, printed] = trained(run);
    emulated_cuda::set_faults("");
    EXPECT_EQ(refused.weights_hash, expected.weights_hash);
    if (test::world().rank() == 0) {
        EXPECT_NE(printed.find("is not all pinned"), std::string::npos) << printed;
        EXPECT_NE(printed.find("ulimit -l"), std::string::npos) << printed;
    }
}

INSTANTIATE_TEST_SUITE_P(Transports,
                         Pinning,
                         ::testing::Values(spec::Transport::nccl, spec::Transport::staged));

}  // namespace
}  // namespace ziggurat::train
