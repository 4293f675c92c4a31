#include "train/account/stall_names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ziggurat::train {
namespace {

TEST(StallNames, AreThereForEveryLaneAndNoneTwice) {
    std::set<std::string_view> fields, activities, columns, meanings;
    for (int lane = 0; lane < num_stalls; ++lane) {
        const auto stall = static_cast<Stall>(lane);
        const auto names = names_of(stall);
        EXPECT_EQ(names.seconds_field, "stall_" + std::string{name_of(stall)} + "_s");
        EXPECT_EQ(names.cause_field, "stall_" + std::string{name_of(stall)} + "_cause");
        EXPECT_TRUE(names.activity.starts_with("Wait for ")) << names.activity;
        EXPECT_FALSE(names.column.empty() || names.meaning.empty()) << names.activity;
        EXPECT_LE(names.column.size(), 5U) << "as wide as the step line's column";
        fields.insert(names.seconds_field);
        activities.insert(names.activity);
        columns.insert(names.column);
        meanings.insert(names.meaning);
    }
    for (const auto* names : {&fields, &activities, &columns, &meanings}) {
        EXPECT_EQ(names->size(), static_cast<std::size_t>(num_stalls));
    }
    EXPECT_TRUE(names_of(Stall::step_end).activity.empty());
}

}  // namespace
}  // namespace ziggurat::train
