#include "layout/flat_layout.hpp"

#include <gtest/gtest.h>
#include "tests/support/flat_gaps.hpp"

namespace ziggurat::layout {
namespace {

Unit unit_of(const std::vector<std::vector<std::int64_t>>& extents) {
    Unit unit;
    for (const auto& e : extents) {
        Parameter parameter;
        parameter.extents = e;
        unit.parameters.push_back(parameter);
    }
    return unit;
}

TEST(FlatLayout, BeginsParametersAtMultiplesOfSixteen) {
    const FlatLayout flat{unit_of({{3}, {5, 7}, {16}}), 1, 1};

    EXPECT_EQ(flat.parameter(0), (ElementRange{0, 3}));
    EXPECT_EQ(flat.parameter(1), (ElementRange{16, 51}));
    EXPECT_EQ(flat.parameter(2), (ElementRange{64, 80}));
    EXPECT_EQ(flat.elements(), 80);
    EXPECT_EQ(flat.padded_elements(), 256);
}

TEST(FlatLayout, PutsJoinedParametersRightBehindEachOther) {
    auto unit = unit_of({{3, 5}, {2, 5}});
    unit.parameters[1].joined_to_previous = true;

    const FlatLayout flat{unit, 1, 1};

    EXPECT_EQ(flat.parameter(1), (ElementRange{15, 25}));
}

TEST(FlatLayout, PadsToAWholeBlockPerShard) {
    const FlatLayout flat{unit_of({{257}}), 1, 3};

    EXPECT_EQ(flat.padded_elements(), 3 * 256);
}

TEST(FlatLayout, HoldsTheSliceOfATensorRank) {
    auto unit = unit_of({{8, 6}, {8, 6}, {6}});
    unit.parameters[0].tensor_dim = 0;
    unit.parameters[1].tensor_dim = 1;

    const FlatLayout flat{unit, 2, 1};

    EXPECT_EQ(flat.parameter(0).size(), 24);
    EXPECT_EQ(flat.parameter(1).size(), 24);
    EXPECT_EQ(flat.parameter(2).size(), 6);
}

TEST(FlatLayout, PutsFrozenParametersIntoARegionBehindTheTrainedOnes) {
    auto unit = unit_of({{20}, {300}, {3}, {5}});
    unit.parameters[0].is_trained = unit.parameters[3].is_trained = false;

    const FlatLayout flat{unit, 1, 2};

    EXPECT_EQ(flat.parameter(1), (ElementRange{0, 300}));
    EXPECT_EQ(flat.parameter(2), (ElementRange{304, 307}));
    EXPECT_EQ(flat.trained_end(), 307);
    EXPECT_EQ(flat.trained(), (ElementRange{0, 512}));
    EXPECT_EQ(flat.parameter(0), (ElementRange{512, 532}));
    EXPECT_EQ(flat.parameter(3), (ElementRange{544, 549}));
    EXPECT_EQ(flat.frozen(), (ElementRange{512, 1024}));
    EXPECT_EQ(flat.ascending(), (std::vector<int>{1, 2, 0, 3}));
    EXPECT_EQ(test::gaps_of(flat),
              (std::vector<ElementRange>{{300, 304}, {307, 512}, {532, 544}, {549, 1024}}));
}

TEST(FlatLayout, HasNoRegionWithoutParameters) {
    auto unit = unit_of({{3}});
    EXPECT_EQ((FlatLayout{unit, 1, 1}).frozen_elements(), 0);
    unit.parameters[0].is_trained = false;

    const FlatLayout flat{unit, 1, 1};

    EXPECT_EQ(flat.trained_elements(), 0);
    EXPECT_EQ(flat.frozen(), (ElementRange{0, 256}));
}

TEST(FlatLayout, NamesTheGapsBetweenAndBehindParameters) {
    const FlatLayout flat{unit_of({{3}, {16}}), 1, 1};

    EXPECT_EQ(test::gaps_of(flat), (std::vector<ElementRange>{{3, 16}, {32, 256}}));
}

}  // namespace
}  // namespace ziggurat::layout
