#include "train/account/utilisation.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

TEST(Utilisation, IsUnknownWithoutAPeak) {
    const Utilisation none{600, 4, Peak{}};
    EXPECT_FALSE(none.is_known());
    EXPECT_EQ(none.of_one_token_s(), 0);
}

TEST(Utilisation, IsOfThePeakOfAllRanks) {
    Utilisation of{600, 4, Peak{.flops_of_rank = 2e6}};
    EXPECT_DOUBLE_EQ(of.of_step(6000), 6000 * 600.0 / (4 * 2e6));
    EXPECT_DOUBLE_EQ(of.of_one_token_s(), 600 / (4 * 2e6));
    EXPECT_EQ(of.peak(), 2e6);
}

TEST(Utilisation, AStepThatReachesMoreThanThePeakRaisesIt) {
    Utilisation of{600, 4, Peak{.flops_of_rank = 2e6}};
    EXPECT_DOUBLE_EQ(of.of_step(10000), 0.75);  // 1.5 MFLOP/s of each rank
    EXPECT_DOUBLE_EQ(of.of_step(20000), 1);
    EXPECT_DOUBLE_EQ(of.peak(), 3e6);
    EXPECT_DOUBLE_EQ(of.of_step(10000), 0.5);
    EXPECT_DOUBLE_EQ(of.of_one_token_s(), 600 / (4 * 3e6));
}

}  // namespace
}  // namespace ziggurat::train
