#include "train/metrics.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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
                                             "step",
                                             "tokens",
                                             "loss",
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

TEST(Metrics, NumbersReadBackToTheSameBits) {
    const test::ScratchFolder folder;
    Metrics metrics{folder.file("metrics.jsonl"), nullptr};
    const StepReport report = some_report();

    metrics.step(report);

    const Json line = lines_of(folder.file("metrics.jsonl")).at(0);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(line.at("loss").get<double>()),
              std::bit_cast<std::uint64_t>(report.loss));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(line.at("grad_norm").get<double>()),
              std::bit_cast<std::uint64_t>(report.grad_norm));
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
    Metrics metrics{"/dev/full", [&](std::string_view text) { warnings.emplace_back(text); }};

    metrics.step(some_report());
    metrics.step(some_report());

    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("'/dev/full' (No space left on device)"), std::string::npos) << warnings[0];
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
