#include "plan/layouts/choose_layout.hpp"

#include <gtest/gtest.h>

#include "plan/layouts/layout_search.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

TEST(ChooseLayout, ReturnsTheFastestFirst) {
    const auto spec = test::run_on_two_nodes("llama");
    const auto machine = test::machine_of_two_ranks();
    const auto chosen = choose_layout(spec, machine, {}, {});
    const auto search = search_layouts(spec, machine);
    ASSERT_EQ(chosen.runs.size(), search.best.size());
    for (std::size_t i = 0; i < chosen.runs.size(); ++i) {
        EXPECT_DOUBLE_EQ(planned_time(chosen.runs[i], machine).step_seconds,
                         search.best[i].time.step_seconds);
    }
    EXPECT_NE(chosen.reason.find("the fastest of"), std::string::npos) << chosen.reason;
}

TEST(ChooseLayout, ReturnsTheSmallestShortfallIfNoneFits) {
    auto machine = test::machine_of_two_ranks();
    machine.device_bytes = 120'000;
    const auto chosen = choose_layout(test::run_on_two_nodes("llama"), machine, {}, {});
    ASSERT_EQ(chosen.runs.size(), 1U);
    EXPECT_EQ(chosen.reason.find("none of"), 0U) << chosen.reason;
}

TEST(ChooseLayout, NamesTheRateThatIsMissing) {
    auto machine = test::machine_of_two_ranks();
    machine.device_flops = 0;
    const auto chosen = choose_layout(test::run_on_two_nodes("llama"), machine, {}, {});
    EXPECT_TRUE(chosen.runs.empty());
    EXPECT_NE(chosen.reason.find("device_flops"), std::string::npos) << chosen.reason;
    EXPECT_NE(chosen.advice.find("bench all"), std::string::npos) << chosen.advice;
}

TEST(ChooseLayout, NamesWhatAllowsNoLayout) {
    auto spec = test::run_on_two_nodes("llama");
    spec.train.global_batch = 7;
    auto space = spec::no_layout_space;
    space.data = true;
    space.spans = {};
    const auto chosen = choose_layout(spec, test::machine_of_two_ranks(), space, {});
    EXPECT_TRUE(chosen.runs.empty());
    EXPECT_NE(chosen.reason.find("global_batch 7"), std::string::npos) << chosen.reason;
}

}  // namespace
}  // namespace ziggurat::plan
