/// model.embedding_gradient scales exactly the embedding's part of a step's gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using Gradients = decltype(test::TinyOutcome::gradients);

/// Gradients of the first step, on all ranks.
class EmbeddingGradient : public ::testing::TestWithParam<bool> {
  protected:
    static Gradients with(double factor, bool is_cut = false) {
        auto run = test::tiny_run("gpt2", test::world().size(), 2, 2);
        run.model.tie_embeddings = GetParam();
        run.model.embedding_gradient = factor;
        run.train.steps = 1;
        if (is_cut) {
            const int ranks = run.parallel.data;
            run.sharding = {ranks, ranks, ranks};
        }
        return test::train_tiny(run, test::world(), Keep::tensors).gradients;
    }
};

TEST_P(EmbeddingGradient, ScalesTheTokenTableAsLookedUpAndNothingElse) {
    constexpr double factor = 0.25;
    const auto whole = with(1);
    const auto none = with(0);
    const auto some = with(factor);

    for (const auto& [name, gradient] : some) {
        if (name != "embedding.token") {
            EXPECT_EQ(gradient, whole.at(name)) << name;
            continue;
        }
        double largest = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const double of_head = none.at(name)[i];
            const double looked_up = whole.at(name)[i] - of_head;
            largest = std::max(largest, std::abs(looked_up));
            ASSERT_NEAR(gradient[i], of_head + factor * looked_up, 1e-6) << i;
        }
        EXPECT_GT(largest, 1e-3) << "there is something to scale";
        for (const double value : none.at(name)) {
            ASSERT_TRUE(GetParam() || value == 0) << "an untied table has no other gradient";
        }
    }
    EXPECT_TRUE(some.contains("embedding.token"));
    EXPECT_EQ(with(factor, true), some) << "shards have the same bits";
}

INSTANTIATE_TEST_SUITE_P(Tables, EmbeddingGradient, ::testing::Bool(), [](const auto& tested) {
    return tested.param ? "Tied" : "OfItsOwn";
});

}  // namespace
}  // namespace ziggurat::train
