/// Class B of the data axis: gradients of the first step and weights after 8 steps, against one rank.
///
/// Every rank also trains the whole global batch alone, with other micro-batches, and compares.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using test::TinyOutcome;

/// Divisible by all tested numbers of ranks except 5 and 7.
constexpr std::int64_t samples_of(int ranks) {
    return ranks == 5 ? 30 : ranks == 7 ? 28 : 24;
}

TinyOutcome train(spec::RunSpec run, const comm::Context& group) {
    run.train.steps = 8;
    return test::train_tiny(run, group, Keep::tensors);
}

/// Returns `samples` on `ranks`, in micro-batches of one sample, or of all samples of a rank.
spec::RunSpec spread(const std::string& family, int ranks, std::int64_t samples, bool is_cut) {
    const auto own = samples / ranks;
    return is_cut ? test::tiny_run(family, ranks, 1, own) : test::tiny_run(family, ranks, own, 1);
}

class DataAxis : public ::testing::TestWithParam<std::string> {};

TEST_P(DataAxis, TrainsAsOneRankDoes) {
    const int ranks = test::world().size();
    const auto samples = samples_of(ranks);
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const auto whole = test::tiny_run(GetParam(), 1, samples / 2, 2);
    const auto alone = train(whole, test::world().in(myself));

    auto run = spread(GetParam(), ranks, samples, false);
    test::expect_class_b(train(run, test::world()), alone);
    run = spread(GetParam(), ranks, samples, true);
    test::expect_class_b(train(run, test::world()), alone);
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    test::expect_class_b(train(run, test::world()), alone);
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
    test::expect_class_b(train(run, test::world()), alone);
}

INSTANTIATE_TEST_SUITE_P(Families, DataAxis, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param == "gpt2" ? "Gpt2WithDropout" : "Llama";
});

}  // namespace
}  // namespace ziggurat::train
