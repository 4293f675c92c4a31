#include "train/step/loss_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ziggurat::train {
namespace {

TEST(LossSum, HasTheSameBitsForAnyCut) {
    std::vector<float> losses;
    double expected = 0;
    for (int i = 0; i < 10007; ++i) {
        losses.push_back(std::ldexp(static_cast<float>(1 + i * 7919 % 10007), -(i % 40)));
        expected += static_cast<double>(losses.back());
    }
    ExactSum whole;
    add_losses(losses, whole);
    ExactSum parts;
    add_losses(std::span{losses}.subspan(37), parts);
    add_losses(std::span{losses}.first(37), parts);

    EXPECT_NEAR(whole.value(), expected, 1e-9 * expected);
    EXPECT_EQ(parts.limbs(), whole.limbs());
}

TEST(LossSum, OfALossThatIsNoNumberIsNone) {
    const std::vector losses{1.0f, std::nanf(""), 2.0f};
    ExactSum sum;
    add_losses(losses, sum);
    EXPECT_FALSE(sum.is_finite());
}

}  // namespace
}  // namespace ziggurat::train
