#include "train/account/bottleneck.hpp"

#include <gtest/gtest.h>

#include "train/account/step_report.hpp"

namespace ziggurat::train {
namespace {

using schedule::Link;
using schedule::PayloadKind;

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// Returns ten steps of one second, each with `waited` seconds of `stall`.
AccountRecord record_with(Stall stall, double waited) {
    AccountRecord record;
    record.first_step = 1;
    record.last_step = 10;
    record.wall_seconds = 10;
    record.activities = {{"Forward", 10, 10 - 10 * waited},
                         {std::string{names_of(stall).activity}, 10, 10 * waited}};
    return record;
}

LinkUse use_of(Link link, std::int64_t bytes_per_step, double busy_seconds) {
    return {.link = to_string(link),
            .calls = 10,
            .planned_bytes = 10 * bytes_per_step,
            .moved_bytes = 10 * bytes_per_step,
            .steps = 10,
            .busy_seconds = busy_seconds,
            .timed_bytes = 10 * bytes_per_step};
}

/// Returns twelve GiB of optimizer state on NVMe, with space for three on the host.
BottleneckFacts some_facts() {
    BottleneckFacts facts;
    facts.budget_bytes = {4 * gib, 8 * gib, 100 * gib};
    facts.reserved_bytes = {4 * gib, 5 * gib, 12 * gib};
    facts.at_home[static_cast<std::size_t>(PayloadKind::optimizer)] = {0, 0, 12 * gib};
    facts.moved[static_cast<std::size_t>(PayloadKind::optimizer)][static_cast<std::size_t>(Link::nvme_read)] =
        12 * gib;
    facts.num_paths = 2;
    return facts;
}

TEST(LimitSentence, NamesTheLaneAndAHomeThatHelps) {
    auto record = record_with(Stall::nvme_read, 0.75);
    record.links = {use_of(Link::nvme_read, 12 * gib, 9.5)};

    EXPECT_EQ(
        bottleneck_sentence(std::vector{record, record}, some_facts()),
        "Bound by NVMe reads: 750 ms of 1.00 s (75%) stalled, 12.00 GiB per step and rank at "
        "12.63 GiB/s. Suggestions: tiers.home.optimizer: {host: 25%, nvme: rest} fits the host budget and "
        "saves up to 238 ms per step; more nodes, more disks in tiers.nvme.paths or faster disks "
        "shorten the rest.");
}

TEST(LimitSentence, NamesEachLane) {
    const std::pair<Stall, const char*> lanes[] = {
        {data_stall, "Bound by reading the batch: "},
        {Stall::collective, "Bound by collectives: "},
        {Stall::channel, "Bound by the pipeline: "},
        {Stall::host_to_device, "Bound by copies from host to device: "},
        {Stall::device_to_host, "Bound by copies from device to host: "},
        {Stall::nvme_read, "Bound by NVMe reads: "},
        {Stall::nvme_write, "Bound by NVMe writes: "},
        {Stall::host_optimizer, "Bound by the optimizer on the host: "}};
    for (const auto& [stall, text] : lanes) {
        auto record = record_with(stall, 0.16);
        for (const auto link :
             {Link::nvme_read, Link::nvme_write, Link::host_to_device, Link::device_to_host}) {
            record.links.push_back(use_of(link, gib, 1));
        }
        const auto sentence = bottleneck_sentence(std::vector{record}, some_facts());
        EXPECT_EQ(sentence.substr(0, std::string{text}.size()), text);
        EXPECT_NE(sentence.find("Suggestions: "), std::string::npos) << sentence;
    }
}

TEST(LimitSentence, SaysThatComputingLimitsWhereNoLaneIsWaitedFor) {
    const auto sentence = bottleneck_sentence(std::vector{record_with(Stall::nvme_read, 0.04)}, some_facts());

    EXPECT_EQ(sentence.find("Compute-bound: 960 ms of 1.00 s (96%)"), 0U) << sentence;
    EXPECT_EQ(bottleneck_sentence(std::vector{AccountRecord{}}, some_facts()), "");
    const auto little = bottleneck_sentence(std::vector{record_with(Stall::collective, 0.12)}, some_facts());
    EXPECT_EQ(little.find("Compute-bound"), 0U) << "12 % are not worth acting on: " << little;
}

TEST(LimitSentence, AdvisesALowerStageOnlyWhereThereIsOne) {
    auto facts = some_facts();
    const auto record = record_with(Stall::collective, 0.5);
    EXPECT_EQ(bottleneck_sentence(std::vector{record}, facts).find("sharding.zero"), std::string::npos);
    facts.gathers_parameters = true;
    EXPECT_NE(bottleneck_sentence(std::vector{record}, facts).find("a lower sharding.zero"),
              std::string::npos);
}

TEST(LimitSentence, KnowsThrottlesFullBudgetsAndIdleLanes) {
    auto record = record_with(Stall::nvme_read, 0.5);
    record.links = {use_of(Link::nvme_read, 12 * gib, 4)};
    auto facts = some_facts();
    facts.reserved_bytes[1] = facts.budget_bytes[1];
    const auto full = bottleneck_sentence(std::vector{record}, facts);
    EXPECT_NE(
        full.find("the host budget has no room for more of tiers.home.optimizer; the lane is busy 40% of "
                  "the time, so overlap.prefetch above 1 may help"),
        std::string::npos)
        << full;

    facts.throttle.nvme_read = 1e9;
    const auto throttled = bottleneck_sentence(std::vector{record}, facts);
    EXPECT_NE(throttled.find("Suggestions: debug.throttle limits it to 953.7 MiB/s."), std::string::npos)
        << throttled;
}

TEST(LimitSentence, BringsParametersToTheDeviceWhereItHasRoom) {
    auto record = record_with(Stall::host_to_device, 0.5);
    record.links = {use_of(Link::host_to_device, 2 * gib, 9.5)};
    BottleneckFacts facts;
    facts.budget_bytes = {4 * gib, gib, 0};
    facts.reserved_bytes = {gib, gib, 0};
    facts.at_home[static_cast<std::size_t>(PayloadKind::parameters)] = {0, 2 * gib, 0};
    facts.moved[static_cast<std::size_t>(PayloadKind::parameters)]
               [static_cast<std::size_t>(Link::host_to_device)] = 2 * gib;
    facts.microbatches = 2;

    const auto sentence = bottleneck_sentence(std::vector{record}, facts);

    EXPECT_NE(sentence.find("tiers.home.parameters: device fits the device budget and saves up to 500 ms per "
                            "step; half the micro-batches"),
              std::string::npos)
        << sentence;
}

TEST(LimitSentence, NamesTheOrderByLayerIfParametersMoveForEachMicroBatch) {
    auto record = record_with(Stall::nvme_read, 0.5);
    record.links = {use_of(Link::nvme_read, 2 * gib, 9.5)};
    auto facts = some_facts();
    facts
        .moved[static_cast<std::size_t>(PayloadKind::parameters)][static_cast<std::size_t>(Link::nvme_read)] =
        2 * gib;
    facts.microbatches = 8;
    for (const bool may : {true, false}) {
        facts.may_run_by_layer = may;
        const auto sentence = bottleneck_sentence(std::vector{record}, facts);
        EXPECT_EQ(
            sentence.find("train.accumulate: by_layer moves parameters for all 8 micro-batches at once") !=
                std::string::npos,
            may)
            << sentence;
    }
}

TEST(WearSentence, TellsBytesPerDayAndHowLongADiskStandsIt) {
    auto record = record_with(Stall::nvme_write, 0.5);
    record.links = {use_of(Link::nvme_write, 1'000'000'000, 5)};
    auto facts = some_facts();

    EXPECT_EQ(wear_sentence(std::vector{record, record}, facts),
              "NVMe wear: 78.58 TiB per day written to each path");
    facts.endurance_bytes = 600'000'000'000'000;
    EXPECT_EQ(wear_sentence(std::vector{record, record}, facts),
              "NVMe wear: 78.58 TiB per day written to each path; tiers.nvme.endurance of 545.7 TiB lasts "
              "6.9 days");
    facts.nodes = 2;
    EXPECT_EQ(wear_sentence(std::vector{record, record}, facts).find("NVMe wear: 39.29 TiB"), 0U);
    EXPECT_EQ(wear_sentence(std::vector{record_with(data_stall, 0)}, facts), "");
}

}  // namespace
}  // namespace ziggurat::train
