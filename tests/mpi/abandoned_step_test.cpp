/// An aborted step leaves all state as after the previous step, for any sharding and any amount of
/// computed work.
///
/// The training can continue from there.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/mesh.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/control/stop_signals.hpp"

namespace ziggurat::train {
namespace {

struct Case {
    const char* name;
    std::string family;
    spec::DType compute;
    int zero;  ///< ZeRO stage over all ranks
};

spec::RunSpec run_of(const Case& chosen) {
    const int ranks = test::world().size();
    auto run = test::tiny_run(chosen.family, ranks, 2, 2);
    run.precision.compute = chosen.compute;
    run.sharding.optimizer = chosen.zero >= 1 ? ranks : 1;
    run.sharding.gradients = chosen.zero >= 2 ? ranks : 1;
    run.sharding.parameters = chosen.zero >= 3 ? ranks : 1;
    run.train.steps = 4;
    return run;
}

/// Returns the number of ops of a step that the executor runs on its own thread.
int num_ops(const Executor& executor) {
    int found = 0;
    for (const auto& op : executor.program().ops) {
        const auto engine = executor.program().lanes[static_cast<std::size_t>(op.lane)].engine;
        found += engine == schedule::Engine::compute ? 1 : 0;
    }
    return found;
}

/// A rank may contribute to the end of a step early: without trained tensors, or with early gradients.
///
/// A request to abort that comes after that applies to the next step.
TEST(AbandonedStepOfStages, IsTheNextOneWhereOthersDoNotHearOfThisOne) {
    const int ranks = test::world().size();
    if (ranks % 2 != 0) {
        return;
    }
    auto run = test::tiny_run("llama", ranks / 2, 2, 2);
    run.parallel.ranks = run.parallel.ranks_per_node = ranks;
    run.parallel.stages = 2;
    run.train.only = {"layers.1.*"};
    run.train.steps = 5;
    const auto expected = test::train_on_host(run, test::world());
    for (const int after : {1, 5, 9}) {
        SCOPED_TRACE("asked after op " + std::to_string(after));
        Assembly* assembly = nullptr;
        int seen = 0;
        test::TinyHooks hooks;
        hooks.begin = [&](Assembly& made) {
            assembly = &made;
            return std::int64_t{0};
        };
        hooks.between_ops = [&] {
            const bool is_giver =
                layout::Mesh{run.parallel}.coordinate(spec::Axis::pipeline, test::world().rank()) == 0;
            const auto begun = assembly->train_executor().steps_begun();
            seen += begun == 3 ? 1 : 0;
            // From then on, until the step that receives the request has ended.
            const bool asks =
                is_giver && seen >= after && begun <= 4 && assembly->outcome().is_abandoned == false;
            assembly->step_requests().ask_to_stop(asks ? StopSignals::after_microbatch : StopSignals::none);
            if (asks) {
                assembly->abandon_step();
            }
        };

        const auto outcome = test::train_tiny(run, test::world(), test::Keep::nothing, {}, hooks);

        EXPECT_GT(outcome.abandoned, 0);
        EXPECT_EQ(outcome.losses, expected.losses);
        EXPECT_EQ(outcome.weights_hash, expected.weights_hash);
        EXPECT_EQ(outcome.average_hash, expected.average_hash);
    }
}

class AbandonedStep : public ::testing::TestWithParam<Case> {};

TEST_P(AbandonedStep, LeavesTheStateOfTheStepBefore) {
    const auto run = run_of(GetParam());
    const auto expected = test::train_on_host(run, test::world());
    // Rank 1, or the only rank, aborts the third step after `after` ops; other ranks are notified at its end.
    const int giver = test::world().size() > 1 ? 1 : 0;
    for (const int after : {1, 7, 23}) {
        SCOPED_TRACE("given up after op " + std::to_string(after));
        Assembly* assembly = nullptr;
        std::int64_t done = 0;
        std::optional<float> loss_given_up, loss_done;  ///< losses of the third step and of its repetition
        test::TinyHooks hooks;
        hooks.begin = [&](Assembly& made) {
            assembly = &made;
            EXPECT_LT(after, num_ops(made.train_executor()) / 2);
            return std::int64_t{0};
        };
        hooks.between_ops = [&] {
            const auto begun = assembly->train_executor().steps_begun();
            const bool gives_up = begun == 3 && ++done >= after && test::world().rank() == giver;
            assembly->step_requests().ask_to_stop(gives_up ? StopSignals::after_microbatch
                                                           : StopSignals::none);
            if (gives_up) {
                assembly->abandon_step();
            }
            if (begun == 4 || begun == 5) {  // result of the previous step
                auto& left = begun == 4 ? loss_given_up : loss_done;
                left = left ? left : assembly->train_slots().back().losses.back();
            }
        };

        const auto outcome = test::train_tiny(run, test::world(), test::Keep::nothing, {}, hooks);

        EXPECT_EQ(outcome.abandoned, 1);
        EXPECT_EQ(loss_given_up != loss_done, test::world().rank() == giver) << "computed all the same";
        EXPECT_EQ(outcome.losses, expected.losses);
        EXPECT_EQ(outcome.norms, expected.norms);
        EXPECT_EQ(outcome.weights_hash, expected.weights_hash);
        EXPECT_EQ(outcome.average_hash, expected.average_hash);
    }
}

INSTANTIATE_TEST_SUITE_P(Spreads,
                         AbandonedStep,
                         ::testing::Values(Case{"gpt2_zero_0", "gpt2", spec::DType::f32, 0},
                                           Case{"llama_zero_1_bf16", "llama", spec::DType::bf16, 1},
                                           Case{"gpt2_zero_2_bf16", "gpt2", spec::DType::bf16, 2},
                                           Case{"llama_zero_3", "llama", spec::DType::f32, 3},
                                           Case{"llama_zero_3_bf16", "llama", spec::DType::bf16, 3}),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace ziggurat::train
