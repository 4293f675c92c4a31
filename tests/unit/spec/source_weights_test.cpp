#include "spec/source_weights.hpp"

#include <gtest/gtest.h>

namespace ziggurat::spec {
namespace {

Data two_sources() {
    Data data;
    data.train.resize(2);
    data.train[0].weight = 3;
    data.train[0].weight_changes = {{10, 1}, {30, 0}};
    data.train[1].weight_changes = {{30, 2}};
    return data;
}

TEST(SourceWeights, HoldFromTheirStepOn) {
    const Data data = two_sources();
    EXPECT_EQ((std::vector<std::int64_t>{0, 10, 30}), weight_steps(data));
    EXPECT_EQ((std::vector<double>{3, 1}), weights_at(data, 9));
    EXPECT_EQ((std::vector<double>{1, 1}), weights_at(data, 10));
    EXPECT_EQ((std::vector<double>{0, 2}), weights_at(data, 1000));
}

TEST(SourceWeights, HaveMeanSharesOverTheRun) {
    const auto shares = mean_shares(two_sources(), 40);
    EXPECT_DOUBLE_EQ((10 * 0.75 + 20 * 0.5) / 40, shares[0]);
    EXPECT_DOUBLE_EQ((10 * 0.25 + 20 * 0.5 + 10) / 40, shares[1]);
    EXPECT_DOUBLE_EQ(0.75, mean_shares(two_sources(), 5)[0]) << "later changes do not matter";
}

}  // namespace
}  // namespace ziggurat::spec
