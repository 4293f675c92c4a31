#include "plan/search/remedies.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/report/memory_report.hpp"
#include "tests/unit/plan/deep_spec.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::Home;

RemedySearch over_at_once() {
    return {.load = {}, .is_over = [] { return true; }};
}

/// A run with much optimizer state, and enough host memory for it.
spec::RunSpec with_state() {
    auto spec = test::small_spec("llama");
    spec.model.hidden = 256;
    spec.model.ffn_hidden = 1024;
    spec.data.seq = 8;
    spec.train.micro_batch = 1;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.tiers.host_budget_bytes = std::int64_t{1} << 40;
    spec.tiers.nvme_budget_bytes = 0;
    spec.tiers.chunk_elements = 2048;
    return spec;
}

std::int64_t device_bytes(const spec::RunSpec& spec) {
    return plan_run(spec).footprint.needed[0];
}

FoundRemedies remedies_of(const spec::RunSpec& spec, const RemedySearch& search = {}) {
    return find_remedies(spec, {}, plan_run(spec), {}, search);
}

std::vector<std::string> overrides_of(const FoundRemedies& found) {
    std::vector<std::string> overrides;
    for (const auto& remedy : found.remedies) {
        overrides.push_back(remedy.overrides);
    }
    return overrides;
}

TEST(Remedies, TriesAdvisedChangesWhenTheSearchIsOver) {
    auto spec = with_state();
    auto on_host = spec;
    on_host.tiers.optimizer = Home{0, 1, 0};
    spec.tiers.device_budget_bytes = device_bytes(on_host);

    const auto found = remedies_of(spec, over_at_once());

    EXPECT_EQ(overrides_of(found), std::vector<std::string>{"tiers.home.optimizer=host"});
    EXPECT_FALSE(found.is_finished);
    EXPECT_LT(found.tried, found.all);
}

TEST(Remedies, HasHomesOfThePlannerThatAreTried) {
    auto spec = with_state();
    spec.tiers.host_budget_bytes = device_bytes(spec) * 60 / 100;
    spec.tiers.device_budget_bytes = device_bytes(spec) * 95 / 100;

    const auto found = remedies_of(spec);

    const auto homes = std::ranges::find(found.remedies,
                                         "tiers.home.optimizer=auto tiers.home.gradients=auto "
                                         "tiers.home.activations=auto tiers.home.parameters=auto",
                                         &Remedy::overrides);
    ASSERT_NE(homes, found.remedies.end()) << fmt::format("{}", fmt::join(overrides_of(found), "; "));
    EXPECT_TRUE(homes->fits);
}

TEST(Remedies, CombinesHomesWithSavesThatCopyNothing) {
    auto spec = with_state();
    spec.checkpoint.every = spec::Interval{.steps = 100};
    auto wanted = spec;
    wanted.checkpoint.is_async = false;
    wanted.tiers.optimizer = Home{0, 1, 0};
    const auto needed = plan_run(wanted).footprint.needed;
    spec.tiers.device_budget_bytes = needed[0];
    spec.tiers.host_budget_bytes = needed[1];

    const auto found = remedies_of(spec, over_at_once());

    EXPECT_EQ(overrides_of(found),
              std::vector<std::string>{"tiers.home.optimizer=host checkpoint.async=false"});
}

TEST(Remedies, ReportsThatASearchWasNotFinished) {
    auto spec = with_state();
    spec.tiers.device_budget_bytes = 1;

    const auto report = memory_report(spec, {}, {}, {}, "", over_at_once());

    EXPECT_EQ(report.table.find("not sufficient"), std::string::npos) << report.table;
    EXPECT_NE(report.table.find("the search for settings that fit was not finished: "), std::string::npos)
        << report.table;
    EXPECT_NE(report.table.find("'ziggurat check --search' tries all"), std::string::npos) << report.table;
}

TEST(Remedies, HasNoChangesThatTheDeckRefuses) {
    auto spec = with_state();
    auto on_host = spec;
    on_host.tiers.optimizer = Home{0, 1, 0};
    spec.tiers.device_budget_bytes = device_bytes(on_host);
    std::size_t loaded = 0;
    const RemedySearch search{.load = [&](const DeckEdit& change, const Watch&) -> std::optional<ChangedRun> {
                                  ++loaded;
                                  return change.overrides == " tiers.home.optimizer=host"
                                             ? std::nullopt
                                             : std::optional{ChangedRun{change.spec, {}}};
                              },
                              .is_over = {}};

    const auto found = remedies_of(spec, search);

    EXPECT_GT(loaded, 1U);
    ASSERT_FALSE(found.remedies.empty());
    EXPECT_NE(found.remedies.front().overrides, "tiers.home.optimizer=host");
}

/// An estimate that is too low would hide nothing, but one that is far too high hides a remedy.
TEST(Remedies, AreEstimatedWithinTheBoundsOfTheirSearch) {
    for (const auto& optimizer : {Home{}, Home{0, 1, 0}}) {
        auto spec = deep(80);
        spec.tiers.optimizer = optimizer;
        const auto exact = plan_run(spec, {}, PlannedRanks::first).footprint.needed;
        const auto estimate = plan_run(spec, {}, PlannedRanks::estimate).footprint.needed;
        EXPECT_GE(estimate[0], exact[0]);
        EXPECT_LE(static_cast<double>(estimate[0]), 1.05 * static_cast<double>(exact[0]));
        EXPECT_LE(static_cast<double>(estimate[1]), 1.25 * static_cast<double>(exact[1]) + (64 << 10));
    }
}

TEST(Remedies, AreArgumentsWithoutQuotes) {
    EXPECT_EQ(arguments_of(" tiers.home.optimizer=nvme 'tiers.nvme.paths=[A, B]'"),
              (std::vector<std::string>{"tiers.home.optimizer=nvme", "tiers.nvme.paths=[A, B]"}));
    EXPECT_EQ(arguments_of(" on 16 ranks sharding.zero=3"), std::vector<std::string>{"sharding.zero=3"});
}

}  // namespace
}  // namespace ziggurat::plan
