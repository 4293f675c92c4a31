#include "layout/mesh.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ziggurat::layout {
namespace {

using spec::Axis;

/// \param groups  data ranks with sequences of their own; each is `context` ranks
spec::Parallel parallel(int tensor, int context, int groups, int stages) {
    spec::Parallel parallel;
    parallel.tensor = tensor;
    parallel.context = context;
    parallel.data = groups * context;
    parallel.stages = stages;
    parallel.ranks = tensor * parallel.data * stages;
    return parallel;
}

TEST(Mesh, NumbersTheFirstAxisFastest) {
    const Mesh mesh{parallel(2, 1, 3, 2)};

    EXPECT_EQ(mesh.group(Axis::tensor, 4), (std::vector<int>{4, 5}));
    EXPECT_EQ(mesh.group(Axis::data, 3), (std::vector<int>{1, 3, 5}));
    EXPECT_EQ(mesh.group(Axis::pipeline, 7), (std::vector<int>{1, 7}));
    EXPECT_EQ(mesh.group(Axis::context, 9), (std::vector<int>{9}));
}

TEST(Mesh, FollowsTheOrderOfTheDeck) {
    auto asked = parallel(2, 1, 3, 1);
    asked.order = {Axis::data, Axis::tensor, Axis::context, Axis::pipeline};

    const Mesh mesh{asked};

    EXPECT_EQ(mesh.group(Axis::data, 4), (std::vector<int>{3, 4, 5}));
    EXPECT_EQ(mesh.group(Axis::tensor, 4), (std::vector<int>{1, 4}));
}

TEST(Mesh, FindsEveryRankFromItsCoordinates) {
    const Mesh mesh{parallel(2, 3, 2, 5)};

    for (int rank = 0; rank < mesh.ranks(); ++rank) {
        int found = 0;
        for (const auto axis : {Axis::tensor, Axis::data, Axis::pipeline}) {
            found = mesh.neighbour(axis, found, mesh.coordinate(axis, rank));
        }
        EXPECT_EQ(found, rank);
    }
}

TEST(Mesh, NumbersTheRanksOfAGridRowByRow) {
    auto grid = parallel(3, 1, 2, 2);
    grid.tensor_rows = 3;
    grid.ranks *= 3;
    const Mesh mesh{grid};

    EXPECT_EQ(mesh.group(Axis::tensor, 13), (std::vector<int>{12, 13, 14}));
    EXPECT_EQ(mesh.group(Axis::tensor_row, 13), (std::vector<int>{10, 13, 16}));
    EXPECT_EQ(mesh.group(Axis::data, 13), (std::vector<int>{4, 13}));
    EXPECT_EQ(mesh.group(Axis::pipeline, 13), (std::vector<int>{13, 31}));
}

TEST(Mesh, HasContextRanksInsideTheDataAxis) {
    const Mesh mesh{parallel(2, 3, 2, 1)};

    EXPECT_EQ(mesh.degree(Axis::data), 6);
    EXPECT_EQ(mesh.group(Axis::data, 3), (std::vector<int>{1, 3, 5, 7, 9, 11}));
    EXPECT_EQ(mesh.group(Axis::context, 3), (std::vector<int>{1, 3, 5}));
    EXPECT_EQ(mesh.group(Axis::context, 8), (std::vector<int>{6, 8, 10}));
    EXPECT_EQ(mesh.coordinate(Axis::context, 10), 2);
    EXPECT_EQ(mesh.coordinate(Axis::data, 10), 5);
}

TEST(Mesh, RefusesDegreesThatDoNotMakeTheRanks) {
    auto asked = parallel(2, 1, 3, 1);
    asked.ranks = 7;

    EXPECT_THROW(Mesh{asked}, Error);
}

}  // namespace
}  // namespace ziggurat::layout
