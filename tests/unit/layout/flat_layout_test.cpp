#include "layout/flat_layout.hpp"

#include <gtest/gtest.h>

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

TEST(FlatLayout, NamesTheGapsBetweenAndBehindParameters) {
    const FlatLayout flat{unit_of({{3}, {16}}), 1, 1};

    EXPECT_EQ(flat.gaps(), (std::vector<ElementRange>{{3, 16}, {32, 256}}));
}

}  // namespace
}  // namespace ziggurat::layout
