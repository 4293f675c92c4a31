#include "train/report/metrics.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/support/counted_allocations.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

using Json = nlohmann::json;

std::vector<Json> lines_of(const std::string& path) {
    std::istringstream text{test::contents_of(path)};
    std::vector<Json> lines;
    for (std::string line; std::getline(text, line);) {
        lines.push_back(Json::parse(line));
    }
    return lines;
}

StepReport some_report() {
    StepReport report{.step = 12,
                      .tokens = 12 * 8192,
                      .loss = 1.0 / 3,
                      .lr = 2.61e-4,
                      .grad_norm = 0.1 + 0.2,
                      .step_s = 1.25,
                      .tok_s = 6553.6,
                      .compute_s = 1.125,
                      .device_peak_bytes = 1LL << 40,
                      .host_peak_bytes = 7,
                      .nvme_bytes = 9,
                      .skipped = 2};
    for (std::size_t i = 0; i < num_stalls; ++i) {
        report.stall_s[i] = 0.001 * static_cast<double>(i + 1);
    }
    report.stall_cause[static_cast<std::size_t>(Stall::collective)] =
        "all_gather of head parameters over data";
    for (std::size_t i = 0; i < schedule::num_purposes; ++i) {
        report.sent_bytes[i] = static_cast<std::int64_t>(100 + i);
        report.planned_bytes[i] = static_cast<std::int64_t>(200 + i);
    }
    for (std::size_t i = 0; i < schedule::num_links; ++i) {
        report.link_bytes[i] = static_cast<std::int64_t>(200 + i);
        report.planned_link_bytes[i] = static_cast<std::int64_t>(210 + i);
    }
    return report;
}

TEST(Metrics, WritesExactlyThePromisedFieldsOfAStep) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};

    metrics.step(some_report());

    const Json line = lines_of(folder.file("metrics.jsonl")).at(0);
    std::set<std::string> fields;
    for (const auto& [key, value] : line.items()) {
        fields.insert(key);
    }
    EXPECT_EQ(fields, (std::set<std::string>{"event",
                                             "time",
                                             "tok_s_rank",
                                             "step",
                                             "tokens",
                                             "loss",
                                             "loss_tokens",
                                             "lr",
                                             "grad_norm",
                                             "step_s",
                                             "tok_s",
                                             "compute_s",
                                             "stall_data_s",
                                             "stall_collective_s",
                                             "stall_channel_s",
                                             "stall_host_to_device_s",
                                             "stall_device_to_host_s",
                                             "stall_nvme_read_s",
                                             "stall_nvme_write_s",
                                             "stall_host_optimizer_s",
                                             "stall_data_cause",
                                             "stall_collective_cause",
                                             "stall_channel_cause",
                                             "stall_host_to_device_cause",
                                             "stall_device_to_host_cause",
                                             "stall_nvme_read_cause",
                                             "stall_nvme_write_cause",
                                             "stall_host_optimizer_cause",
                                             "sent_parameters_B",
                                             "sent_secondary_B",
                                             "sent_gradients_B",
                                             "sent_publication_B",
                                             "sent_tensor_B",
                                             "sent_context_B",
                                             "sent_pipeline_B",
                                             "plan_parameters_B",
                                             "plan_secondary_B",
                                             "plan_gradients_B",
                                             "plan_publication_B",
                                             "plan_tensor_B",
                                             "plan_context_B",
                                             "plan_pipeline_B",
                                             "nvme_read_B",
                                             "nvme_written_B",
                                             "host_to_device_B",
                                             "device_to_host_B",
                                             "plan_nvme_read_B",
                                             "plan_nvme_written_B",
                                             "plan_host_to_device_B",
                                             "plan_device_to_host_B",
                                             "device_peak_B",
                                             "host_peak_B",
                                             "process_peak_B",
                                             "nvme_B",
                                             "skipped"}));
    EXPECT_EQ(line.at("event"), "step");
    EXPECT_EQ(line.at("step"), 12);
    EXPECT_EQ(line.at("device_peak_B"), 1LL << 40);
    EXPECT_EQ(line.at("skipped"), 2);
    EXPECT_EQ(line.at("stall_data_s"), 0.001);
    EXPECT_EQ(line.at("stall_host_optimizer_s"), 0.008);
    EXPECT_EQ(line.at("stall_collective_cause"), "all_gather of head parameters over data");
    EXPECT_TRUE(line.at("stall_nvme_read_cause").is_null());
    for (const auto* purpose :
         {"parameters", "secondary", "gradients", "publication", "tensor", "context", "pipeline"}) {
        const std::string name = std::string{purpose} + "_B";
        EXPECT_EQ(line.at("plan_" + name), line.at("sent_" + name).get<int>() + 100) << name;
    }
    for (const auto* link : {"nvme_read", "nvme_written", "host_to_device", "device_to_host"}) {
        const std::string name = std::string{link} + "_B";
        EXPECT_EQ(line.at("plan_" + name), line.at(name).get<int>() + 10) << name;
    }
    EXPECT_EQ(line.at("nvme_written_B"), 201);
    EXPECT_EQ(line.at("sent_secondary_B"), 100 + static_cast<int>(schedule::Purpose::secondary));
}

TEST(Metrics, LeavesOutWhatCanOnlyBeZeroInThisRun) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    RunFacts facts;
    facts.fields.stalls[static_cast<std::size_t>(Stall::nvme_read)] = false;
    facts.fields.sent[static_cast<std::size_t>(schedule::Purpose::tensor)] = false;
    facts.fields.moved[static_cast<std::size_t>(schedule::Link::nvme_read)] = false;
    facts.fields.nvme = false;
    metrics.start(facts);

    metrics.step(some_report());
    auto later = some_report();
    later.stall_s = {};
    later.sent_bytes = {};
    metrics.step(later);
    metrics.end({});

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    for (const auto* field : {"stall_nvme_read_s", "stall_nvme_read_cause", "sent_tensor_B", "plan_tensor_B",
                              "nvme_read_B", "plan_nvme_read_B", "nvme_B"}) {
        EXPECT_FALSE(lines.at(1).contains(field)) << field;
    }
    for (const auto* field : {"stall_nvme_write_s", "sent_gradients_B", "nvme_written_B", "host_peak_B"}) {
        EXPECT_TRUE(lines.at(1).contains(field)) << field;
    }
    std::vector<std::vector<std::string>> keys(2);
    for (std::size_t i = 0; i < 2; ++i) {
        for (const auto& [key, value] : lines.at(1 + i).items()) {
            keys[i].push_back(key);
        }
    }
    EXPECT_EQ(keys[0], keys[1]);
    EXPECT_TRUE(lines.at(3).contains("sent_tensor_B"));
}

TEST(Metrics, TellsTheUtilisationAgainstThePeak) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.start({.ranks = 4, .flops_per_token = 600, .peak = {2e6, "measured"}});
    StepReport report = some_report();
    report.tok_s = 6000;
    report.mfu = 0.45;
    report.peak_flops_rank = 2e6;

    metrics.step(report);

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    EXPECT_EQ(lines[0].at("peak_flops_rank"), 2e6);
    EXPECT_EQ(lines[0].at("peak_source"), "measured");
    EXPECT_EQ(lines[0].at("mfu_formula"), mfu_formula);
    EXPECT_EQ(lines[1].at("mfu"), 0.45);
    EXPECT_DOUBLE_EQ(lines[1].at("tok_s_rank"), 1500);
}

TEST(Metrics, HasThePlannedStepAndTheShareOfItsBound) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.start({.ranks = 4,
                   .objective = "dpo",
                   .planned = {.seconds = 0.5, .bound_seconds = 0.25, .skip_reason = {}}});
    StepReport report = some_report();
    metrics.step(report);
    report.plan_bound_share = 0.4;
    metrics.step(report);
    Metrics unplanned{folder.file("unplanned.jsonl"), nullptr};
    unplanned.start({.ranks = 4});

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    EXPECT_EQ(lines[0].at("plan_step_s"), 0.5);
    EXPECT_EQ(lines[0].at("objective"), "dpo");
    EXPECT_EQ(lines[0].at("plan_bound_s"), 0.25);
    EXPECT_FALSE(lines[1].contains("plan_bound_share"));
    EXPECT_EQ(lines[2].at("plan_bound_share"), 0.4);
    EXPECT_FALSE(lines_of(folder.file("unplanned.jsonl"))[0].contains("plan_step_s"));
}

TEST(Metrics, TellsOfAPeakThatAStepHasRaised) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.start({.ranks = 4, .flops_per_token = 600, .peak = {2e6, "measured"}});
    StepReport report = some_report();
    for (const double peak : {2e6, 3e6, 3e6}) {
        report.peak_flops_rank = peak;
        metrics.step(report);
    }

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[1].at("event"), "step");
    EXPECT_EQ(lines[2].at("event"), "peak");
    EXPECT_EQ(lines[2].at("step"), report.step);
    EXPECT_EQ(lines[2].at("peak_flops_rank"), 3e6);
    EXPECT_EQ(metrics.peak_flops_rank(), 3e6);
}

TEST(Metrics, EveryEventHasItsTime) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    const double before = calendar_seconds();
    metrics.resume(3);
    metrics.start({});
    metrics.step(some_report());
    metrics.validate({});
    metrics.checkpoint_begin(3, 1, true);
    metrics.checkpoint_end({});
    metrics.signal("SIGUSR1", 1, 3);
    metrics.stop("SIGUSR1", 4);
    metrics.end({});

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    ASSERT_EQ(lines.size(), 9U);
    for (const auto& line : lines) {
        ASSERT_TRUE(line.contains("time")) << line;
        EXPECT_GE(line.at("time"), before);
        EXPECT_LE(line.at("time"), calendar_seconds());
    }
}

TEST(Metrics, ABreakdownIsTheLastLine) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.step(some_report());

    metrics.break_down("21 updates in a row were skipped", 5);
    metrics.break_down("and then something else", 6);
    metrics.step(some_report());

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1].at("event"), "end");
    EXPECT_EQ(lines[1].at("exit_code"), 5);
    EXPECT_EQ(lines[1].at("reason"), "21 updates in a row were skipped");
    EXPECT_EQ(lines[1].at("step"), 12);
    EXPECT_EQ(lines[1].at("tokens"), 12 * 8192);
}

TEST(Metrics, AnOrderlyEndIsNoBreakdown) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.end({.step = 4, .exit_code = 75, .reason = "SIGTERM"});
    metrics.break_down("too late", 6);

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].at("reason"), "SIGTERM");
}

TEST(Metrics, NumbersReadBackToTheSameBits) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    const StepReport report = some_report();

    metrics.step(report);

    const Json line = lines_of(folder.file("metrics.jsonl")).at(0);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(line.at("loss").get<double>()),
              std::bit_cast<std::uint64_t>(report.loss.value()));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(line.at("grad_norm").get<double>()),
              std::bit_cast<std::uint64_t>(report.grad_norm));
}

TEST(Metrics, SaysNullOfAStepWithoutTargets) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    StepReport report = some_report();
    report.loss = std::nullopt;

    metrics.step(report);

    const Json line = lines_of(folder.file("metrics.jsonl")).at(0);
    EXPECT_TRUE(line.at("loss").is_null());
    EXPECT_FALSE(line.contains("loss_nonfinite"));
}

TEST(Metrics, WritesTheSamplesOfEachSourceAndTheEpochsThatBegin) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    const std::vector<SourceSamples> sources{{.name = "web", .samples = 3, .total = 40, .share = 0.75},
                                             {.name = "code", .samples = 1, .total = 8, .share = 0.25}};
    const std::vector<BegunEpoch> begun{{.source = "code", .epoch = 2}};
    StepReport report = some_report();
    report.samples_by_source = sources;
    report.begun_epochs = begun;

    metrics.step(report);

    const auto lines = lines_of(folder.file("metrics.jsonl"));
    ASSERT_EQ(2U, lines.size());
    EXPECT_EQ((Json{{"web", 3}, {"code", 1}}), lines[0]["samples_by_source"]);
    EXPECT_EQ((Json{{"web", 40}, {"code", 8}}), lines[0]["total_samples_by_source"]);
    EXPECT_EQ((Json{{"web", 0.75}, {"code", 0.25}}), lines[0]["share_by_source"]);
    EXPECT_EQ("epoch", lines[1]["event"]);
    EXPECT_EQ("code", lines[1]["source"]);
    EXPECT_EQ(2, lines[1]["epoch"]);
    EXPECT_EQ(12, lines[1]["step"]);
}

TEST(Metrics, FlagsALossThatIsNotFinite) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    StepReport report = some_report();
    report.loss = std::nan("");

    metrics.step(report);

    const Json line = lines_of(folder.file("metrics.jsonl")).at(0);
    EXPECT_TRUE(line.at("loss").is_null());
    EXPECT_EQ(line.at("loss_nonfinite"), true);
    EXPECT_FALSE(line.contains("lr_nonfinite"));
}

TEST(Metrics, AppendsOneLinePerEventAtOnce) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};

    metrics.start({.name = "tiny \"x\"",
                   .version = "1",
                   .ranks = 2,
                   .threads = 1,
                   .steps = 5,
                   .parameters = 100,
                   .tokens_per_step = 8,
                   .flops_per_token = 600,
                   .budget_bytes = {1LL << 30, 1LL << 35, 0},
                   .seed = 18446744073709551615ULL});
    metrics.validate({.step = 3, .tokens = 24, .loss = 1.5, .loss_tokens = 7, .seconds = 0.5});
    metrics.signal("SIGUSR1", 1, 3);
    metrics.stop("SIGUSR1", 4);
    RunEnd facts{.step = 4, .tokens = 32, .wall_s = 1.5, .exit_code = 75, .weights_hash = 0x12};
    facts.sent_bytes[static_cast<std::size_t>(schedule::Purpose::gradients)] = 1LL << 50;
    facts.link_bytes[static_cast<std::size_t>(schedule::Link::nvme_write)] = 1LL << 51;
    metrics.end(facts);

    const std::vector<Json> lines = lines_of(folder.file("metrics.jsonl"));
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[0].at("event"), "start");
    EXPECT_EQ(lines[0].at("host_budget_B"), 1LL << 35);
    EXPECT_EQ(lines[4].at("nvme_written_B"), 1LL << 51);
    EXPECT_EQ(lines[0].at("name"), "tiny \"x\"");
    EXPECT_EQ(lines[0].at("seed"), 18446744073709551615ULL);
    EXPECT_EQ(lines[1].at("event"), "validate");
    EXPECT_EQ(lines[1].at("loss_tokens"), 7);
    EXPECT_EQ(lines[2].at("signal"), "SIGUSR1");
    EXPECT_EQ(lines[3].at("event"), "stop");
    EXPECT_EQ(lines[4].at("exit_code"), 75);
    EXPECT_EQ(lines[4].at("weights_hash"), "0000000000000012");
    EXPECT_EQ(lines[4].at("sent_gradients_B"), 1LL << 50);
    EXPECT_EQ(lines[4].at("plan_gradients_B"), 0);
}

TEST(Metrics, HasRewardsOfPairs) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    const std::vector<SourceLoss> losses{{"a", 3.0, 4}, {"b", 1.0, 2}};
    StepReport report{.step = 1, .tokens = 64, .loss = 0.5};
    report.rewards = RewardMeans{.chosen = 0.5, .rejected = -0.25, .accuracy = 0.75};
    report.loss_by_source = losses;
    metrics.step(report);
    metrics.validate({.step = 1, .loss = 0.5, .loss_tokens = 6, .rewards = report.rewards});
    const auto lines = lines_of(folder.file("metrics.jsonl"));
    EXPECT_EQ(lines.at(0).at("reward_margin"), 0.75);
    EXPECT_EQ(lines.at(0).at("reward_accuracy"), 0.75);
    EXPECT_EQ(lines.at(0).at("loss_pairs_by_source").at("a"), 4);
    EXPECT_EQ(lines.at(1).at("loss_pairs"), 6);
    EXPECT_FALSE(lines.at(1).contains("loss_tokens"));
}

TEST(Metrics, HasTheNormsOfEachUnit) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.norms(
        50, std::vector<UnitNorms>{{.unit = "embedding", .gradient = 0.1, .weights = 9, .update = 0.01},
                                   {.unit = "head", .gradient = std::nan(""), .weights = 6, .update = 0}});
    const auto line = lines_of(folder.file("metrics.jsonl")).at(0);
    EXPECT_EQ(line.at("event"), "norms");
    EXPECT_EQ(line.at("step"), 50);
    EXPECT_EQ(line.at("gradient").at("embedding"), 0.1);
    EXPECT_TRUE(line.at("gradient").at("head").is_null());
    EXPECT_EQ(line.at("gradient").at("head_nonfinite"), true);
    EXPECT_EQ(line.at("weights").at("head"), 6.0);
    EXPECT_EQ(line.at("update"), (Json{{"embedding", 0.01}, {"head", 0.0}}));
}

TEST(Metrics, HasNoNumberForAValidationWithoutTargets) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};

    metrics.validate({.step = 3, .tokens = 24, .loss = {}, .loss_tokens = 0, .seconds = 0.5});

    const auto line = lines_of(folder.file("metrics.jsonl")).at(0);
    EXPECT_TRUE(line.at("loss").is_null());
    EXPECT_FALSE(line.contains("loss_nonfinite")) << "that is of sums that broke down";
    EXPECT_EQ(line.at("loss_tokens"), 0);
}

TEST(Metrics, WritesStepsWithoutAllocating) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    metrics.step(some_report());

    const test::CountedAllocations counted;
    for (int i = 0; i < 100; ++i) {
        metrics.step(some_report());
    }

    EXPECT_EQ(counted.allocations(), 0);
}

TEST(Metrics, WarnsOnceAndGoesOnWhenTheDiskIsFull) {
    std::vector<std::string> warnings;
    Metrics metrics{"/dev/full", [&](Severity, std::string_view text) { warnings.emplace_back(text); }};

    metrics.step(some_report());
    metrics.step(some_report());

    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("'/dev/full' (No space left on device)"), std::string::npos) << warnings[0];
    metrics.end({});
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_NE(warnings[1].find("3 records of '/dev/full' could not be written"), std::string::npos)
        << warnings[1];
}

TEST(Metrics, RefusesAPathThatCannotBeWritten) {
    try {
        const Metrics metrics{"/nonexistent/metrics.jsonl", nullptr};
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        EXPECT_NE(std::string{error.what()}.find("'/nonexistent/metrics.jsonl' (No such file"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace ziggurat::train
