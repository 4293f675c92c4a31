#include "spec/tensor_grid.hpp"

#include <gtest/gtest.h>

namespace ziggurat::spec {
namespace {

TEST(TensorGrid, HasTheLargestSideWithThatManyRanks) {
    for (const int side : {1, 2, 3, 7, 30, 1024}) {
        EXPECT_EQ(side_of_grid(side * side), side);
        EXPECT_EQ(side_of_grid((side + 1) * (side + 1) - 1), side);
    }
    for (const int side : {1, 2, 3, 7, 30, 101}) {
        EXPECT_EQ(side_of_cube(side * side * side), side);
        EXPECT_EQ(side_of_cube((side + 1) * (side + 1) * (side + 1) - 1), side);
    }
}

}  // namespace
}  // namespace ziggurat::spec
