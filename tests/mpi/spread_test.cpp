/// Class B of the data axis: gradients of the first step and weights after 20 steps, beside one rank that
/// does all.
///
/// Every rank trains the whole global batch alone as well, with other micro-batches, and compares.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/norm_gap.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using test::TinyOutcome;

/// Divides by all rank counts that are tested but 5 and 7.
constexpr std::int64_t samples_of(int ranks) {
    return ranks == 5 ? 30 : ranks == 7 ? 28 : 24;
}

TinyOutcome train(spec::RunSpec run, const comm::Context& group) {
    run.train.steps = 20;
    return test::train_tiny(run, group, Keep::tensors);
}

/// `samples` on `ranks`, in micro-batches of one sample or of all that a rank has.
spec::RunSpec spread(const std::string& family, int ranks, std::int64_t samples, bool is_cut) {
    const auto own = samples / ranks;
    return is_cut ? test::tiny_run(family, ranks, 1, own) : test::tiny_run(family, ranks, own, 1);
}

struct Values {
    const std::vector<float>& values;
};

void expect_class_b(const TinyOutcome& ours, const TinyOutcome& alone) {
    for (std::size_t step = 0; step < ours.losses.size(); ++step) {
        EXPECT_NEAR(ours.losses[step] / alone.losses[step], 1, 1e-5) << "step " << step;
    }
    std::map<std::string, Values> expected;
    test::SquaredGap all;
    for (const auto& [name, values] : alone.gradients) {
        expected.emplace(name, Values{values});
    }
    for (const auto& [name, gap] : test::gradient_gaps(ours.gradients, expected)) {
        EXPECT_LE(gap, 1e-5) << name;
    }
    for (const auto& [name, values] : alone.weights) {
        if (!test::is_key_bias(name)) {
            all += test::squared_gap(ours.weights.at(name), values);
        }
    }
    EXPECT_LE(all.relative(), 1e-4);
}

class DataAxis : public ::testing::TestWithParam<std::string> {};

TEST_P(DataAxis, TrainsAsOneRankDoes) {
    const int ranks = test::world().size();
    const auto samples = samples_of(ranks);
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const auto whole = test::tiny_run(GetParam(), 1, samples / 2, 2);
    const auto alone = train(whole, test::world().in(myself));

    auto run = spread(GetParam(), ranks, samples, false);
    expect_class_b(train(run, test::world()), alone);
    run = spread(GetParam(), ranks, samples, true);
    expect_class_b(train(run, test::world()), alone);
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    expect_class_b(train(run, test::world()), alone);
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
    expect_class_b(train(run, test::world()), alone);
}

INSTANTIATE_TEST_SUITE_P(Families, DataAxis, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param == "gpt2" ? "Gpt2WithDropout" : "Llama";
});

}  // namespace
}  // namespace ziggurat::train
