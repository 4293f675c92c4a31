#include "plan/layouts/layout_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "plan/for_each_on_threads.hpp"
#include "plan/layouts/layout_bounds.hpp"
#include "plan/plan_run.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

using test::run_on_two_nodes;

constexpr SearchLimits unlimited_work{.wanted = 3, .timed = 1000, .spans = 1000, .footprints = 1000};

/// Returns the time of the fastest layout that fits, by planning every layout.
std::optional<double> fastest_of_all(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    std::optional<double> fastest;
    for (const auto& choice : all_layouts(spec)) {
        const auto run = with_layout(spec, choice);
        if (plan_run(run, machine, PlannedRanks::first).footprint.fits()) {
            const double seconds = planned_time(run, machine).step_seconds;
            fastest = std::min(fastest.value_or(seconds), seconds);
        }
    }
    return fastest;
}

TEST(LayoutSearch, FindsTheFastestOfAllThatFit) {
    const auto spec = run_on_two_nodes("llama");
    auto limited = test::machine_of_two_ranks();
    for (const std::int64_t bytes : {std::int64_t{1} << 40, std::int64_t{260'000}, std::int64_t{190'000}}) {
        limited.device_bytes = bytes;
        const auto found = search_layouts(spec, limited, {}, {}, unlimited_work);
        const auto fastest = fastest_of_all(spec, limited);
        ASSERT_EQ(fastest.has_value(), !found.best.empty()) << bytes;
        if (fastest) {
            EXPECT_DOUBLE_EQ(found.best.front().time.step_seconds, *fastest) << bytes;
        }
        EXPECT_EQ(found.left_out, 0) << bytes;
        EXPECT_EQ(found.all, found.too_large + found.too_slow + found.timed) << bytes;
    }
}

TEST(LayoutSearch, SaysWhichLayoutNeedsLeastIfNoneFits) {
    auto small = test::machine_of_two_ranks();
    small.device_bytes = 120'000;
    const auto found = search_layouts(run_on_two_nodes("llama"), small);
    EXPECT_TRUE(found.best.empty());
    EXPECT_EQ(found.timed, 1) << "the one whose bound is least";
    EXPECT_EQ(found.do_not_fit, found.timed);
    EXPECT_EQ(found.all, found.too_large + found.timed);
    ASSERT_TRUE(found.smallest);
    EXPECT_GT(found.smallest->footprint.total_lack(), 0);
}

TEST(LayoutSearch, CountsWhatItsLimitsLeaveOut) {
    const auto spec = run_on_two_nodes("llama");
    const auto machine = test::machine_of_two_ranks();
    for (const SearchLimits limits : {SearchLimits{.wanted = 3, .timed = 4, .footprints = 100},
                                      SearchLimits{.wanted = 3, .timed = 1000, .footprints = 1}}) {
        const auto found = search_layouts(spec, machine, {}, {}, limits);
        EXPECT_GT(found.left_out, 0);
        EXPECT_LE(found.timed, limits.timed);
        EXPECT_EQ(found.all, found.too_large + found.too_slow + found.timed + found.left_out);
        EXPECT_EQ(std::ssize(found.best), std::min<std::int64_t>(3, limits.footprints));
        for (const auto& layout : found.best) {
            EXPECT_GT(layout.footprint.needed[0], 0) << "only layouts whose memory is known are returned";
        }
    }
}

TEST(LayoutSearch, TimesSpansWithTheLowestBounds) {
    const auto spec = run_on_two_nodes("llama");
    const auto machine = test::machine_of_two_ranks();
    const auto all = search_layouts(spec, machine, {}, {}, unlimited_work);
    EXPECT_EQ(all.spans_left_out, 0);
    const auto some =
        search_layouts(spec, machine, {}, {}, {.wanted = 3, .timed = 1000, .spans = 1, .footprints = 1000});
    EXPECT_GT(some.spans_left_out, 0);
    EXPECT_EQ(some.left_out, some.spans_left_out);
    EXPECT_LT(some.timed, all.timed);
    EXPECT_EQ(some.all, some.too_large + some.too_slow + some.timed + some.left_out);
    EXPECT_NE(search_text(some).find(" with spans within nodes may be as fast and are left out"),
              std::string::npos);
    spec::LayoutSpace within_nodes;
    within_nodes.spans.optimizer = {spec::SpanSetting::Kind::node};
    const auto fixed = search_layouts(spec, machine, within_nodes, {},
                                      {.wanted = 3, .timed = 1000, .spans = 1, .footprints = 1000});
    EXPECT_EQ(fixed.left_out, 0) << "spans that the deck sets have no limit of their own";
}

TEST(ForEachOnThreads, CallsEachIndexOnceAndThrowsTheFirstError) {
    std::vector<std::atomic<int>> calls(50);
    for_each_on_threads(calls.size(), [&](std::size_t i) { ++calls[i]; });
    EXPECT_TRUE(std::ranges::all_of(calls, [](const auto& count) { return count == 1; }));
    try {
        for_each_on_threads(calls.size(), [](std::size_t i) {
            if (i % 7 == 3) {
                throw std::runtime_error{std::to_string(i)};
            }
        });
        FAIL() << "no error";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "3");
    }
    for_each_on_threads(0, [](std::size_t) { FAIL() << "there is no work"; });
}

TEST(ForEachOnThreads, PlansTheSameOnAnyNumberOfThreads) {
    auto spec = run_on_two_nodes("gpt2");
    spec.sharding = {4, 4, 4, 0, spec::ReducePlan::each_microbatch, 4};
    const auto planned = [&](std::size_t threads) {
        set_threads_of_plans(threads);
        std::vector<std::size_t> ops;
        const auto plan = plan_run(spec, test::machine_of_two_ranks(), PlannedRanks::several,
                                   [&](std::size_t built) { ops.push_back(built); });
        set_threads_of_plans(1);
        return std::tuple{ops, plan.footprint.needed, plan.fullest().program.rank, plan.accuracy_note};
    };
    const auto alone = planned(1);
    EXPECT_EQ(std::get<0>(alone).size(), 4U) << "one for each rank";
    EXPECT_EQ(planned(4), alone);
}

/// Returns a run on two nodes whose sequences one, two or four ranks can share.
spec::RunSpec with_long_sequences(const char* family) {
    auto spec = run_on_two_nodes(family);
    spec.data.seq = spec.model.max_seq = 4 * 2048;
    return spec;
}

TEST(LayoutBounds, AreBelowThePlanOfEveryLayout) {
    for (const char* family : {"gpt2", "llama", "llama on long sequences"}) {
        const bool is_long = std::string{family}.ends_with("sequences");
        const auto spec = is_long ? with_long_sequences("llama") : run_on_two_nodes(family);
        const auto rates = rates_of(spec, test::machine_of_two_ranks());
        LayoutBounds bounds{spec, rates};
        double tightest = 0;
        std::vector<double> ratios;
        for (const auto& choice : all_layouts(spec)) {
            const auto run = with_layout(spec, choice);
            if (is_long && choice.context == 1 && run.train.micro_batches > 1) {
                continue;
            }
            const double bound = bounds.step_seconds(choice);
            const double planned = planned_time(run, test::machine_of_two_ranks()).step_seconds;
            EXPECT_LE(bound, planned * (1 + 1e-9)) << described(choice);
            tightest = std::max(tightest, bound / planned);
            const double of_pipeline = bounds.pipeline_seconds(choice);
            EXPECT_GE(of_pipeline, bound) << described(choice);
            EXPECT_LE(of_pipeline, planned * (1 + 1e-9)) << described(choice);
            ratios.push_back(of_pipeline / planned);
            const auto footprint = plan_run(run, test::machine_of_two_ranks(), PlannedRanks::first).footprint;
            EXPECT_LE(bounds.device_bytes(choice), footprint.needed[0]) << described(choice);
        }
        EXPECT_GT(tightest, 0.85) << "bounds that are far below the plan prune nothing";
        const auto middle = ratios.begin() + std::ssize(ratios) / 2;
        std::ranges::nth_element(ratios, middle);
        EXPECT_GT(*middle, 0.8) << family;
    }
}

TEST(LayoutChoice, KeepsWhatTheSpaceDoesNotLeaveOpen) {
    auto spec = run_on_two_nodes("llama");
    spec.parallel.tensor = 2;
    spec.parallel.stages = 2;
    spec.parallel.data = 1;
    spec.train.micro_batch = 2;
    spec.recompute.kind = spec::RecomputeKind::selective;
    auto space = spec::no_layout_space;
    EXPECT_EQ(all_layouts(spec, space).size(), 1U);
    EXPECT_EQ(with_layout(spec, all_layouts(spec, space).front(), space).parallel.stages, 2);
    space.pipeline = space.data = true;
    space.spans = spec::settings_of_stage(2);
    const auto all = all_layouts(spec, space);
    ASSERT_EQ(all.size(), 2U) << "one or two stages";
    for (const auto& choice : all) {
        const auto run = with_layout(spec, choice, space);
        EXPECT_EQ(run.parallel.tensor, 2);
        EXPECT_FALSE(run.parallel.sequence);
        EXPECT_EQ(run.train.micro_batch, 2);
        EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::selective);
        EXPECT_EQ(run.sharding.gradients, run.parallel.data);
        EXPECT_EQ(run.sharding.parameters, 1);
    }
    space.spans = spec::settings_of_stage(3);
    spec.sharding.secondary = 2;
    spec.parallel.tensor = spec.parallel.stages = 1;
    const auto copied = with_layout(spec, all_layouts(spec, space).front(), space);
    EXPECT_EQ(copied.sharding.parameters, 4);
    EXPECT_EQ(copied.sharding.secondary, 2) << "a second copy within a node of two ranks stays";
    EXPECT_EQ(copied.sharding.sum_group, 2) << "ranks of a node sum first";
    spec.parallel.tensor = spec.parallel.stages = 2;
    space.data = false;
    EXPECT_EQ(all_layouts(spec, space).size(), 1U) << "the data degree follows from the stages";
}

TEST(LayoutChoice, KeepsANumberOfSumGroups) {
    auto spec = run_on_two_nodes("llama");
    spec.sharding.sum_group = 4;
    const spec::LayoutSpace flat{.sum_group = 4};
    const auto all = all_layouts(spec, flat);
    ASSERT_FALSE(all.empty());
    for (const auto& choice : all) {
        EXPECT_EQ(choice.data, 4) << "four ranks sum first, so their number divides the data ranks";
        EXPECT_EQ(with_layout(spec, choice, flat).sharding.sum_group, 4);
    }
    const auto choice = all.back();
    EXPECT_NE(overrides_of(choice, spec, flat).find(", sum_group: flat}"), std::string::npos);
    const spec::LayoutSpace one{.sum_group = 1};
    EXPECT_EQ(with_layout(spec, choice, one).sharding.sum_group, 1);
    EXPECT_NE(overrides_of(choice, spec, one).find(", sum_group: 1}"), std::string::npos);
    spec.sharding.sum_group = 2;
    EXPECT_EQ(overrides_of(choice, spec, {}).find("sum_group"), std::string::npos) << "those of a node";
}

TEST(LayoutChoice, NamesSpansThatAreNoStage) {
    auto spec = run_on_two_nodes("llama");
    spec.sharding.sum_group = 2;  // as for sum_group: node
    LayoutChoice choice{.data = 4, .spans = {1, 1, 2}};
    EXPECT_NE(described(choice).find("data 4, spans 1/1/2, micro-batch 1"), std::string::npos);
    EXPECT_NE(overrides_of(choice, spec, {}).find("'sharding={parameters: 1, gradients: 1, optimizer: 2}'"),
              std::string::npos)
        << overrides_of(choice, spec, {});
    EXPECT_TRUE(with_layout(spec, choice).sharding.is_by_span);
    choice.spans = {2, 2, 4};
    EXPECT_EQ(with_layout(spec, choice).sharding.reduce, spec::ReducePlan::by_span);
    EXPECT_NE(overrides_of(choice, spec, {}, true).find("optimizer: 4, leases: pass}"), std::string::npos);
    choice.spans = {1, 4, 4};
    EXPECT_NE(described(choice).find("data 4, zero 2"), std::string::npos);
    EXPECT_FALSE(with_layout(spec, choice).sharding.is_by_span);
    EXPECT_EQ(layout_of(with_layout(spec, choice)), choice);
}

TEST(LayoutChoice, SharesLongSequencesOverContextRanks) {
    auto spec = with_long_sequences("llama");
    const auto degrees = [&](const spec::LayoutSpace& space) {
        std::set<int> found;
        for (const auto& choice : all_layouts(spec, space)) {
            found.insert(choice.context);
        }
        return found;
    };
    const std::set<int> one{1};
    const std::set<int> one_and_two{1, 2};
    EXPECT_EQ(degrees({}), (std::set<int>{1, 2, 4}));
    spec.parallel.context_kind = spec::ContextKind::ulysses;
    spec.model.heads = spec.model.kv_heads = 2;
    EXPECT_EQ(degrees({}), one_and_two) << "two heads cannot be divided by four ranks";
    spec.parallel.context_kind = spec::ContextKind::ring;
    EXPECT_EQ(degrees({}), (std::set<int>{1, 2, 4}));
    EXPECT_EQ(degrees({.context = false}), one);
    spec.data.seq = 2 * 2048;
    EXPECT_EQ(degrees({}), one_and_two) << "a rank has at least 2048 positions";
    spec.data.seq += 2;
    EXPECT_EQ(degrees({}), one) << "a ring of two has four equal blocks";
    spec.data.seq -= 2;
    spec.parallel.order = {spec::Axis::context, spec::Axis::tensor, spec::Axis::data, spec::Axis::pipeline};
    EXPECT_EQ(degrees({}), one) << "context ranks are next to data ranks";

    spec = with_long_sequences("llama");
    const LayoutChoice choice{.tensor = 2, .context = 2, .data = 2, .spans = {1, 2, 2}};
    const auto run = with_layout(spec, choice);
    EXPECT_EQ(run.parallel.context, 2);
    EXPECT_TRUE(run.parallel.sequence);
    EXPECT_EQ(run.train.micro_batches, spec.train.global_batch) << "all ranks share each sequence";
    EXPECT_EQ(layout_of(run), choice);
    EXPECT_EQ(described(choice).find("tensor 2, context 2, stages 1, data 1, zero 2"), 0U)
        << described(choice);
    const auto overrides = overrides_of(choice, spec, {});
    EXPECT_NE(overrides.find(" parallel.context.degree=2 "), std::string::npos) << overrides;
    EXPECT_NE(overrides.find(" parallel.data=1 "), std::string::npos) << overrides;
}

TEST(LayoutChoice, ListsEveryLayoutOnce) {
    const auto all = all_layouts(run_on_two_nodes("gpt2"));
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].tensor * all[i].stages * all[i].data, 4);
        EXPECT_EQ(std::count(all.begin(), all.end(), all[i]), 1) << described(all[i]);
    }
    const auto has = [&](const auto& is_so) { return std::ranges::any_of(all, is_so); };
    EXPECT_TRUE(has([](const auto& one) { return one.tensor == 2 && one.stages == 2; }));
    EXPECT_TRUE(has([](const auto& one) { return one.spans == spec::StateSpans{2, 2, 4}; }));
    EXPECT_FALSE(has([](const auto& one) { return one.data == 2 && one.spans.optimizer > 2; }));
    EXPECT_TRUE(
        has([](const auto& one) { return one.chunks == 2 && one.data == 2 && one.spans.parameters == 2; }));
    EXPECT_FALSE(has([](const auto& one) { return one.tensor > 2; })) << "a node has two ranks";
    EXPECT_FALSE(has([](const auto& one) { return one.chunks > 1 && one.stages == 1; }));
}

}  // namespace
}  // namespace ziggurat::plan
