#include "plan/report/time_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/plan/small_machine.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

/// Returns a run with all its state on NVMe.
spec::RunSpec on_nvme() {
    auto run = test::small_spec("llama");
    run.model.layers = 6;
    run.tiers.parameters = run.tiers.optimizer = run.tiers.gradients = {0, 0, 1};
    return run;
}

TEST(BoundParts, AddUpToTheStepAndNameTheSlowLink) {
    auto slow = test::small_machine();
    slow.nvme_read_rate = 1e6;
    const auto time = planned_time(on_nvme(), slow);

    const auto parts = bound_parts(time);

    EXPECT_NE(parts.front().work.find("from NVMe"), std::string::npos) << parts.front().work;
    double all = 0;
    for (const auto& part : parts) {
        all += part.path_seconds;
        EXPECT_GE(part.hidden_seconds, 0) << part.work;
        EXPECT_NEAR(part.hidden_seconds, std::max(0.0, part.work_seconds - part.path_seconds), 1e-12);
    }
    EXPECT_NEAR(all, time.step_seconds, 1e-9 * time.step_seconds);
    EXPECT_EQ(bound_words(time).find(parts.front().work), 0U) << bound_words(time);
}

TEST(BoundParts, HideTransfersBehindComputing) {
    auto fast = test::small_machine();
    fast.device_flops = 1e7;
    const auto time = planned_time(on_nvme(), fast);

    const auto parts = bound_parts(time);

    EXPECT_EQ(parts.front().work, "products and attention");
    const auto reads = std::ranges::find(parts, "reads of parameters from NVMe", &BoundPart::work);
    ASSERT_NE(reads, parts.end());
    EXPECT_GT(reads->hidden_seconds, 0.3 * reads->work_seconds) << "prefetched";
}

TEST(BoundParts, SayWhatIsHiddenInWords) {
    PlannedTime time;
    time.step_seconds = 6;
    time.pipeline.idle_seconds = {0};
    StageTime stage;
    stage.path = {{"reads", 3.7}, {"optimizer", 2.3}};
    stage.works = {{"reads", 5.1}, {"optimizer", 2.3}, {"writes", 1.5}, {"control", 0.01}};
    time.stages.push_back({.stage = 0, .time = stage});

    EXPECT_EQ(bound_words(time), "reads 62% (1.40 s of 5.10 s hidden), optimizer 38%");
    EXPECT_EQ(hidden_words(time), "writes 1.50 s of 1.50 s");
}

TEST(BoundParts, OfAPipelineCountItsWaits) {
    auto run = test::small_spec("llama");
    run.model.layers = 4;
    run.parallel.stages = run.parallel.ranks = 4;
    const auto time = planned_time(run, test::small_machine());

    const auto parts = bound_parts(time);

    const auto waits = std::ranges::find(parts, "waits for other stages", &BoundPart::work);
    ASSERT_NE(waits, parts.end());
    EXPECT_DOUBLE_EQ(waits->path_seconds, time.bound().idle_seconds);
}

TEST(StepBound, IsTheBusiestLaneAndNoMoreThanTheStep) {
    PlannedTime time;
    time.step_seconds = 6;
    StageTime stage;
    stage.lanes = {{"compute", 2}, {"nvme_read", 5}};
    time.stages.push_back({.stage = 0, .time = stage});
    EXPECT_EQ(step_bound(time), 5);
    time.step_seconds = 4;
    EXPECT_EQ(step_bound(time), 4);
}

TEST(Practicality, IsTheTimeWithAllStateOnTheDeviceOverThatOfTheRun) {
    const auto run = on_nvme();
    const double seconds = planned_time(run, test::small_machine()).step_seconds;
    auto resident = run;
    resident.tiers.parameters = resident.tiers.optimizer = resident.tiers.gradients = spec::Home{};

    const double share = practicality(run, test::small_machine(), seconds);

    EXPECT_DOUBLE_EQ(share, planned_time(resident, test::small_machine()).step_seconds / seconds);
    EXPECT_LT(share, 0.9) << "the disks cost time";
    EXPECT_EQ(practicality(resident, test::small_machine(), 123), 1);
}

TEST(Practicality, MovesTheStateOfEachStage) {
    auto run = on_nvme();
    run.parallel.stages = run.parallel.ranks = 2;
    run.parallel.stage_layers = {3, 3};
    spec::StageState away;
    away.optimizer = {0, 0, 1};
    run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = spec::Home{};
    run.stages = {spec::StageState{}, away};
    auto resident = run;
    resident.stages.clear();
    const double seconds = planned_time(run, test::small_machine()).step_seconds;

    EXPECT_NEAR(practicality(run, test::small_machine(), seconds),
                planned_time(resident, test::small_machine()).step_seconds / seconds, 1e-9);
}

TEST(TimeAsJson, NamesTheConventionOfUtilisation) {
    const auto run = on_nvme();
    const auto time = planned_time(run, test::small_machine());

    const auto made = nlohmann::json::parse(time_as_json(time, run, test::small_machine()));

    EXPECT_EQ(made.at("mfu_convention"), "C5");
    EXPECT_EQ(made.at("mfu_by_convention").size(), 6U);
    EXPECT_NEAR(made.at("mfu_by_convention").at("C5"), made.at("mfu"), 0.02 * made.at("mfu").get<double>());
    EXPECT_EQ(made.at("works").at(0).at("work"), bound_parts(time).front().work);
    EXPECT_LT(made.at("practicality"), 1);
    EXPECT_TRUE(nlohmann::json::parse(time_as_json(time, run, {})).at("mfu_by_convention").is_null());
}

}  // namespace
}  // namespace ziggurat::plan
