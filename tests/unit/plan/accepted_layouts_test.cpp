#include "plan/layouts/accepted_layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/layouts/choose_layout.hpp"
#include "plan/layouts/smallest_layouts.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

/// Refuses tensor ranks, for one reason, and micro-batches of two, for another.
std::vector<std::string> refuse_some(const spec::RunSpec& run, const spec::LayoutSpace& /*space*/) {
    std::vector<std::string> problems;
    if (run.parallel.tensor > 1) {
        problems.emplace_back("tensor ranks");
    }
    if (run.train.micro_batch == 2) {
        problems.emplace_back("two sequences");
    }
    return problems;
}

bool is_refused(const LayoutChoice& choice) {
    return choice.tensor > 1 || choice.micro_batch == 2;
}

TEST(AcceptedLayouts, AreThoseThatNoRuleRefuses) {
    const auto spec = test::run_on_two_nodes("llama");
    const spec::LayoutSpace space;
    const spec::LayoutRules rules = refuse_some;
    AcceptedLayouts accepted{spec, space, rules};
    const auto all = all_layouts(spec, space);
    std::int64_t with_tensor = 0;
    for (const auto& choice : all) {
        EXPECT_EQ(accepted.accepts(choice), !is_refused(choice)) << described(choice);
        const bool is_candidate =
            std::ranges::find(accepted.candidates(), choice) != accepted.candidates().end();
        EXPECT_TRUE(is_candidate || is_refused(choice)) << described(choice);
        EXPECT_FALSE(is_candidate && choice.tensor > 1) << "no program of such a group exists";
        with_tensor += choice.tensor > 1 ? 1 : 0;
    }
    EXPECT_GT(with_tensor, 0);
    EXPECT_EQ(accepted.refused(), with_tensor);
    EXPECT_EQ(std::ssize(accepted.candidates()) + accepted.refused(), std::ssize(all));
}

TEST(AcceptedLayouts, KeepAGroupOfWhichOneIsAccepted) {
    const auto spec = test::run_on_two_nodes("llama");
    const spec::LayoutSpace space;
    const auto all = all_layouts(spec, space);
    const auto& last = all.back();
    const spec::LayoutRules rules = [&](const spec::RunSpec& run, const auto&) {
        // The number makes the messages differ.
        return layout_of(run) == last ? std::vector<std::string>{}
                                      : std::vector{std::to_string(run.train.micro_batch) + " of " +
                                                    std::to_string(run.parallel.data)};
    };
    AcceptedLayouts accepted{spec, space, rules};
    EXPECT_NE(std::ranges::find(accepted.candidates(), last), accepted.candidates().end());
}

TEST(AcceptedLayouts, AreTheOnlyOnesThatSearchesReturn) {
    const auto spec = test::run_on_two_nodes("llama");
    const auto machine = test::machine_of_two_ranks();
    for (const auto search : {search_layouts, search_smallest_layouts}) {
        const auto found = search(spec, machine, {}, refuse_some, {}, {});
        ASSERT_FALSE(found.best.empty());
        for (const auto& layout : found.best) {
            EXPECT_FALSE(is_refused(layout.choice)) << described(layout.choice);
        }
        EXPECT_GT(found.refused, 0);
        EXPECT_EQ(found.all, found.refused + found.too_large + found.too_slow + found.timed + found.left_out);
        EXPECT_NE(search_text(found).find("refused by rules of the deck"), std::string::npos);
    }
}

TEST(AcceptedLayouts, LeadToTheSmallestThatIsAcceptedIfNoneFits) {
    auto machine = test::machine_of_two_ranks();
    machine.device_bytes = 1000;
    const auto found = search_layouts(test::run_on_two_nodes("llama"), machine, {}, refuse_some);
    ASSERT_TRUE(found.smallest);
    EXPECT_FALSE(is_refused(found.smallest->choice)) << described(found.smallest->choice);
}

TEST(AcceptedLayouts, LeadToTheClosestThatIsRefusedIfAllAre) {
    const auto machine = test::machine_of_two_ranks();
    const spec::LayoutRules rules = [](const spec::RunSpec& run, const auto& space) {
        auto problems = refuse_some(run, space);
        problems.emplace_back("always");
        return problems;
    };
    const auto chosen = choose_layout(test::run_on_two_nodes("llama"), machine, {}, rules);
    ASSERT_EQ(chosen.runs.size(), 1U);
    EXPECT_FALSE(is_refused(layout_of(chosen.runs.front()))) << "others have more problems";
    EXPECT_EQ(chosen.reason.find("rules refuse all layouts"), 0U) << chosen.reason;
}

}  // namespace
}  // namespace ziggurat::plan
