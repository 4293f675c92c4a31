#include "plan/report/memory_report.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.hpp"
#include "layout/counts.hpp"
#include "plan/plan_run.hpp"
#include "schedule/build_program.hpp"
#include "spec/stage_state.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

spec::RunSpec wide() {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 8;
    spec.data.seq = 512;
    spec.train.micro_batch = 4;
    return spec;
}

std::int64_t needed(spec::RunSpec spec, spec::RecomputeKind kind) {
    spec.recompute.kind = kind;
    return schedule::build_program(spec, 0, schedule::Variant::train).tier_bytes(spec::Tier::device);
}

TEST(MemoryReport, NamesTheCheapestChangesThatFit) {
    auto spec = wide();
    spec.tiers.device_budget_bytes = needed(spec, spec::RecomputeKind::selective);

    const auto report = memory_report(spec);

    EXPECT_FALSE(report.fits);
    ASSERT_EQ(report.found.remedies.size(), 3u);
    EXPECT_EQ(report.found.remedies[0].overrides, "recompute.kind=selective");
    EXPECT_EQ(report.found.remedies[1].overrides, "recompute.kind=full");
    EXPECT_EQ(report.found.remedies[2].overrides, "train.micro_batch=2");
    for (const auto& remedy : report.found.remedies) {
        EXPECT_TRUE(remedy.fits);
        EXPECT_LE(remedy.footprint.needed[0], spec.tiers.device_budget_bytes);
        EXPECT_NE(report.table.find("fits with " + remedy.overrides + ": leaves device "), std::string::npos);
    }
}

std::vector<std::string> overrides_that_fit(const spec::RunSpec& spec) {
    std::vector<std::string> found;
    for (const auto& remedy : memory_report(spec).found.remedies) {
        EXPECT_TRUE(remedy.fits) << remedy.overrides;
        found.push_back(remedy.overrides);
    }
    return found;
}

TEST(MemoryReport, NamesStagesThatFit) {
    auto spec = wide();
    spec.model.hidden = 256;
    spec.model.ffn_hidden = 1024;
    spec.data.seq = 8;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.parallel.ranks = spec.parallel.ranks_per_node = spec.parallel.data = 4;
    const auto all = needed(spec, spec.recompute.kind);
    using Overrides = std::vector<std::string>;

    spec.tiers.device_budget_bytes = all - 1;
    EXPECT_EQ(overrides_that_fit(spec),
              (Overrides{"sharding.zero=1", "sharding.zero=2 sharding.reduce=each_microbatch",
                         "sharding.zero=3 sharding.reduce=each_microbatch"}));
    spec.tiers.device_budget_bytes = all / 2;
    EXPECT_EQ(overrides_that_fit(spec).front(), "sharding.zero=3 sharding.reduce=each_microbatch");

    spec.sharding = {1, 4, 4, 0, spec::ReducePlan::each_microbatch, 4};
    EXPECT_EQ(overrides_that_fit(spec).front(), "sharding.zero=3") << "from ZeRO 2";
    spec.sharding = {2, 2, 4, 0, spec::ReducePlan::by_span, 4};
    spec.tiers.device_budget_bytes = all / 100;
    EXPECT_EQ(memory_report(spec).found.remedies.front().overrides.find("zero"), std::string::npos)
        << "spans of its own are left alone";
}

TEST(MemoryReport, NamesSpansWhereTheDeckDoes) {
    auto spec = test::small_spec("llama", 2);
    spec.sharding.is_by_span = true;
    auto cut = spec;
    cut.sharding.optimizer = 2;
    spec.tiers.device_budget_bytes = plan_run(cut).footprint.needed[0];

    const auto report = memory_report(spec);

    ASSERT_FALSE(report.found.remedies.empty()) << report.table;
    EXPECT_EQ(report.found.remedies.front().overrides, "sharding.optimizer=all");
    EXPECT_EQ(report.table.find("sharding.zero"), std::string::npos) << report.table;
}

TEST(MemoryReport, NamesContextRanksForLongSequences) {
    auto spec = wide();
    spec.model.heads = spec.model.kv_heads = 3;  // tensor ranks cannot divide them
    spec.model.head_dim = spec.model.hidden / 3;
    spec.data.seq = spec.model.max_seq = 2 * 2048;
    spec.train.micro_batch = 1;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.parallel.ranks = spec.parallel.ranks_per_node = spec.parallel.data = 2;
    const auto alone = needed(spec, spec.recompute.kind);
    auto shared = spec;
    shared.parallel.context = 2;
    spec.tiers.device_budget_bytes = needed(shared, spec.recompute.kind);
    EXPECT_LT(spec.tiers.device_budget_bytes, alone * 7 / 10);

    const auto found = overrides_that_fit(spec);
    EXPECT_NE(std::ranges::find(found, "parallel.context.degree=2 parallel.data=1"), found.end())
        << memory_report(spec).table;
}

TEST(MemoryReport, NamesFetchingNothingAhead) {
    auto spec = test::small_spec("llama", 2);
    spec.model.hidden = 256;
    spec.model.ffn_hidden = 512;
    spec.model.layers = 6;
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    spec.train.micro_batch = 1;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.overlap.prefetch = 1;
    auto at_once = spec;
    at_once.overlap.prefetch = 0;
    spec.tiers.device_budget_bytes = plan_run(at_once).footprint.needed[0];

    const auto report = memory_report(spec);

    ASSERT_FALSE(report.found.remedies.empty()) << report.table;
    EXPECT_EQ(report.found.remedies.front().overrides, "overlap.prefetch=0") << report.table;
}

TEST(MemoryReport, NamesSavesWithoutACopyWhereTheHostIsShort) {
    auto spec = wide();
    spec.checkpoint.every = spec::Interval{.steps = 100};
    const auto program = schedule::build_program(spec, 0, schedule::Variant::train);
    const auto copy = program.tier_bytes(spec::Tier::host);
    EXPECT_GE(copy, 12 * layout::count_parameters(spec.model).total) << "weights and both moments";

    spec.tiers.host_budget_bytes = copy - 1;
    EXPECT_EQ(overrides_that_fit(spec).front(), "checkpoint.async=false");
    spec.tiers.host_budget_bytes = copy;
    EXPECT_TRUE(memory_report(spec).fits);
}

TEST(MemoryReport, NamesSecondSlotsOnNvmeAndRunsWithoutThem) {
    auto spec = test::small_spec("llama");
    spec.tiers.optimizer = {0, 0, 1};
    spec.tiers.nvme_paths = {"/disk"};
    spec.optimizer.clip = spec::ClipPolicy::global;
    const auto one_slot = plan_run(spec).footprint.needed[2];
    spec.overlap.optimizer_with_backward = true;
    const auto two_slots = plan_run(spec).footprint.needed[2];
    ASSERT_LT(one_slot, two_slots);
    spec.tiers.nvme_budget_bytes = two_slots - 1;

    const auto report = memory_report(spec);

    EXPECT_NE(report.table.find("bytes) are second slots of optimizer state"), std::string::npos)
        << report.table;
    ASSERT_GE(report.found.remedies.size(), 2U) << report.table;
    EXPECT_EQ(report.found.remedies[0].overrides,
              "overlap.optimizer_with_backward=false optimizer.clip.policy=global");
    EXPECT_EQ(report.found.remedies[1].overrides, "optimizer.clip.policy=previous_norm");
    EXPECT_EQ(report.found.remedies[0].footprint.needed[2], one_slot);
    spec.tiers.nvme_budget_bytes = two_slots;
    EXPECT_TRUE(memory_report(spec).fits);
}

TEST(MemoryReport, SaysBesideTheVerdictWhyItCannotBeRunAllTheSame) {
    auto spec = wide();
    spec.tiers.device_budget_bytes = std::int64_t{1} << 40;
    const std::string but = "but nobody is there";
    const auto fits = memory_report(spec, {}, {}, {}, but).table;
    EXPECT_NE(fits.find(" device memory per rank; but nobody is there\n"), std::string::npos) << fits;
    spec.tiers.device_budget_bytes = 1;
    EXPECT_EQ(memory_report(spec, {}, {}, {}, but).table.find(but), std::string::npos) << "it does not fit";
}

TEST(MemoryReport, NamesWhatHelpsMostWhereNothingSuffices) {
    auto spec = wide();
    spec.tiers.device_budget_bytes = 1;
    spec.tiers.host_budget_bytes = plan_run(spec).footprint.needed[1];
    spec.tiers.nvme_budget_bytes = 0;

    const auto report = memory_report(spec);

    ASSERT_EQ(report.found.remedies.size(), 1u);
    EXPECT_EQ(report.found.remedies[0].overrides, "train.micro_batch=1 recompute.kind=full");
    EXPECT_FALSE(report.found.remedies[0].fits);
}

TEST(MemoryReport, OfManyMicroBatchesIsThatOfTheirWholeProgram) {
    const spec::Sharding zero_3{4, 4, 4, 2, spec::ReducePlan::each_microbatch, 4};
    for (const auto& sharding : {spec::Sharding{.reduce = spec::ReducePlan::at_end},
                                 spec::Sharding{.reduce = spec::ReducePlan::each_microbatch}, zero_3}) {
        auto spec = wide();
        spec.parallel.ranks = spec.parallel.ranks_per_node = spec.parallel.data = 4;
        spec.sharding = sharding;
        spec.overlap.prefetch = 3;
        spec.train.micro_batches = 9;
        spec.train.global_batch = 9 * spec.train.micro_batch * spec.parallel.data;
        const auto whole =
            schedule::build_program(spec, 0, schedule::Variant::train).tier_bytes(spec::Tier::device);

        spec.tiers.device_budget_bytes = whole + whole / 100;
        EXPECT_TRUE(memory_report(spec).fits);
        spec.tiers.device_budget_bytes = whole - whole / 100;
        EXPECT_FALSE(memory_report(spec).fits);
    }
}

TEST(MemoryReport, HasNoRemediesForWhatFits) {
    auto spec = wide();
    spec.tiers.device_budget_bytes = needed(spec, spec::RecomputeKind::none);

    const auto report = memory_report(spec);

    EXPECT_TRUE(report.fits);
    EXPECT_TRUE(report.found.remedies.empty());
}

TEST(MemoryReport, HasAColumnForEachStage) {
    auto spec = wide();
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = 3;
    spec.parallel.stage_layers = {2, 5, 1};
    spec.train.micro_batches = 4;
    spec.stages.assign(3, spec::general_state(spec));
    spec.stages[1].recompute = {spec::RecomputeKind::full, 2};
    spec.stages[2].optimizer = {0, 1, 0};

    const auto report = memory_report(spec);

    ASSERT_EQ(report.stages.size(), 3u);
    std::int64_t max = 0;
    for (int stage = 0; stage < 3; ++stage) {
        const auto& usage = report.stages[static_cast<std::size_t>(stage)];
        EXPECT_EQ(usage.stage, stage);
        EXPECT_EQ(usage.table.total, bytes_of_rank(spec, stage));
        EXPECT_EQ(usage.table.total[1] > report.stages[0].table.total[1], stage == 2)
            << "moments on the host";
        max = std::max(max, usage.table.total[0]);
        for (const auto bytes : {usage.table.total[0], usage.table.total[1]}) {
            EXPECT_NE(report.table.find(format_bytes(bytes)), std::string::npos) << report.table;
        }
    }
    EXPECT_EQ(report.fullest().table.total[0], max);
    for (const char* line : {"stage 0      stage 1      stage 2\n", "rank 0       rank 1       rank 2\n",
                             "2            5            1\n", "none     full / 2         none\n"}) {
        EXPECT_NE(report.table.find(line), std::string::npos) << line << report.table;
    }

    spec.tiers.device_budget_bytes = max - 1;
    const auto worst = fmt::format("largest on rank {0} of stage {0}: ", report.fullest().stage);
    EXPECT_NE(memory_report(spec).table.find(worst), std::string::npos) << memory_report(spec).table;
}

TEST(MemoryReport, PutsFourStagesSideBySide) {
    auto spec = wide();
    spec.parallel.stages = spec.parallel.ranks = 6;
    const auto table = memory_report(spec).table;

    const auto first = table.find("stage 3\n");
    ASSERT_NE(first, std::string::npos) << table;
    EXPECT_NE(table.find("      stage 4      stage 5\n", first), std::string::npos) << table;
}

TEST(MemoryReport, SpeaksOfTheFullestStage) {
    auto spec = wide();
    spec.parallel.stages = spec.parallel.ranks = 4;
    spec.train.micro_batches = 8;
    std::int64_t max = 0;
    for (int rank = 0; rank < 4; ++rank) {
        max = std::max(
            max,
            schedule::build_program(spec, rank, schedule::Variant::train).tier_bytes(spec::Tier::device));
    }
    spec.tiers.device_budget_bytes = max;
    EXPECT_TRUE(memory_report(spec).fits);

    spec.tiers.device_budget_bytes = max - 1;
    EXPECT_FALSE(memory_report(spec).fits);
}

}  // namespace
}  // namespace ziggurat::plan
