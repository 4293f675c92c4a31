#include "plan/layouts/smallest_layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/layouts/layout_footprint.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

constexpr SearchLimits unlimited_work{.wanted = 3, .timed = 1000, .spans = 1000, .footprints = 1000};

/// Returns the layouts that fit, the smallest first, by planning every layout.
std::vector<FoundLayout> all_by_memory(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    std::vector<FoundLayout> all;
    for (const auto& choice : all_layouts(spec)) {
        const auto run = with_layout(spec, choice);
        FoundLayout found{choice, planned_time(run, machine), footprint_of_ends(run, machine, {})};
        if (found.footprint.fits()) {
            all.push_back(std::move(found));
        }
    }
    std::ranges::stable_sort(all, needs_less_memory);
    return all;
}

TEST(SmallestLayouts, AreTheSmallestOfAllThatFit) {
    const auto spec = test::run_on_two_nodes("llama");
    const auto machine = test::machine_of_two_ranks();
    const auto found = search_smallest_layouts(spec, machine, {}, {}, unlimited_work);
    const auto all = all_by_memory(spec, machine);
    ASSERT_EQ(found.best.size(), 3U);
    for (std::size_t i = 0; i < found.best.size(); ++i) {
        EXPECT_EQ(found.best[i].footprint.needed, all[i].footprint.needed) << i;
        EXPECT_DOUBLE_EQ(found.best[i].time.step_seconds, all[i].time.step_seconds) << i;
    }
    EXPECT_EQ(found.all, found.too_large + found.too_slow + found.timed);
    EXPECT_GT(found.too_slow, 0) << "bounds save plans";
    EXPECT_NE(search_text(found).find("with more memory by bounds"), std::string::npos);
    const auto fastest = search_layouts(spec, machine, {}, {}, unlimited_work);
    EXPECT_LT(found.best.front().footprint.needed[0], fastest.best.front().footprint.needed[0]);
}

TEST(SmallestLayouts, AreSortedByTimeIfTheyNeedTheSame) {
    FoundLayout one, other;
    one.footprint.needed = {10, 20, 0};
    other.footprint.needed = {10, 30, 0};
    one.time.step_seconds = 2;
    other.time.step_seconds = 1;
    EXPECT_TRUE(needs_less_memory(one, other)) << "after the device counts the host";
    one.footprint.needed[1] = 30;
    EXPECT_FALSE(needs_less_memory(one, other));
    EXPECT_TRUE(needs_less_memory(other, one)) << "the faster one of two equals";
}

TEST(SmallestLayouts, CountWhatLimitsLeaveOut) {
    const auto spec = test::run_on_two_nodes("llama");
    const SearchLimits limits{.wanted = 3, .timed = 1000, .footprints = 2};
    const auto found = search_smallest_layouts(spec, test::machine_of_two_ranks(), {}, {}, limits);
    EXPECT_EQ(found.timed, 2);
    EXPECT_GT(found.left_out, 0);
    EXPECT_EQ(found.all, found.too_large + found.too_slow + found.timed + found.left_out);
}

TEST(SmallestLayouts, NameTheSmallestShortfall) {
    auto small = test::machine_of_two_ranks();
    small.device_bytes = 60'000;
    const auto found =
        search_smallest_layouts(test::run_on_two_nodes("llama"), small, {}, {}, unlimited_work);
    EXPECT_TRUE(found.best.empty());
    ASSERT_TRUE(found.smallest);
    EXPECT_GT(found.smallest->footprint.total_lack(), 0);
    EXPECT_EQ(found.all, found.too_large + found.timed);
}

}  // namespace
}  // namespace ziggurat::plan
