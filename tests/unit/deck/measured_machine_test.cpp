#include "deck/machine/measured_machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "deck/machine/machine_figures.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::deck {
namespace {

Environment environment_of(std::map<std::string, std::string> variables) {
    return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
        const auto at = variables.find(name);
        return at == variables.end() ? std::nullopt : std::optional{at->second};
    };
}

spec::MachineSpec measured() {
    return {
        .name = "a host: with a colon",
        .has_device = false,
        .ranks_per_node = 2,
        .cores_per_node = 16,
        .threads_per_rank = 3,
        .host_bytes = std::int64_t{96} << 30,
        .nvme_bytes = 1'234'567'890'123,
        .nvme_read_rate = 3.5e9,
        .nvme_write_rate = 2'000'000'001,
        .device_flops = 5e12,
        .peak_flops = 6e12,
        .bf16_products = {.forward = {.flops = 4e12, .half_m = 96, .half_n = 10, .half_k = 300, .call = 3e-6},
                          .backward_weight = {.flops = 3e12, .half_k = 20}},
        .fp32_products = {.forward = {.flops = 2e12, .half_m = 12}},
        .attention = {.forward_flops = 2e12, .backward_flops = 15e11},
        .sweeps = {spec::SweepRate{1e9, 2e9}, {}, {}, {3e9, 0}},
        .device_bandwidth = 8e9,
        .host_bandwidth = 30e9,
        .update_rate = 7e8,
        .op_overhead = 25e-7,
        .launch_time = 8e-6,
        .node_link = {.bandwidth = 3e9, .latency = 4e-6, .sharers = 2},
        .network_link = {.bandwidth = 1e9, .latency = 9e-6, .sharers = 4},
        .nvme_block_bytes = 256 << 10,
        .nvme_queue_depth = 16,
        .seconds_to_failure = 90 * 86400,
        .restart_seconds = 95.5,
        .checkpoint_rate = 1.5e9,
        .price_per_hour = 12.25,
        .power = 900};
}

TEST(MeasuredMachine, ReadsBackFromItsText) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("m.yaml")} << machine_text(measured());
    Diagnostics found;

    const auto read = load_machine(folder.file("m.yaml"), found);

    ASSERT_TRUE(read) << found.print();
    EXPECT_EQ(*read, measured());
}

TEST(MeasuredMachine, ReadsBackEveryFigure) {
    const test::ScratchFolder folder;
    auto machine = measured();
    double value = 1;
    for (const auto& figure : machine_figures()) {
        value += 1;
        const bool is_long = figure.form == FigureForm::duration && figure.of(machine) > 1;
        const bool is_energy = std::string_view{figure.key}.starts_with("energy.");
        figure.of(machine) = is_long                               ? figure.of(machine)
                             : is_energy                           ? value * 1e-12
                             : figure.form == FigureForm::duration ? value * 1e-9
                             : figure.form == FigureForm::rate     ? value * 1e6
                                                                   : value * 1000;
    }
    machine.peak_flops = value * 2000;  // no rate of products is above it
    machine.power = value * 2000;       // nor is idle_power above this
    machine.node_link.sharers = 4;
    machine.network_link.sharers = 8;
    std::ofstream{folder.file("m.yaml")} << machine_text(machine);
    Diagnostics found;

    const auto read = load_machine(folder.file("m.yaml"), found);

    ASSERT_TRUE(read) << found.print();
    EXPECT_EQ(machine_text(*read), machine_text(machine));
    auto found_machine = *read;
    for (const auto& figure : machine_figures()) {
        EXPECT_DOUBLE_EQ(figure.of(found_machine), figure.of(machine)) << figure.key;
    }
    EXPECT_EQ(read->network_link.sharers, 8);
}

TEST(MeasuredMachine, NestsKeysInMaps) {
    spec::MachineSpec machine;
    machine.bf16_products.forward.flops = 5e9;
    machine.bf16_products.forward.half_k = 7;
    machine.node_link = {.bandwidth = 3e9, .latency = 2e-6, .sharers = 4};

    const auto text = machine_text(machine);

    EXPECT_NE(text.find("\nproducts:\n  bf16:\n    flops: 5000000000\n    half_k: 7\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("\nnode_link:\n  bandwidth: 3GB/s\n  latency: 0.000002000s\n  sharers: 4\n"),
              std::string::npos)
        << text;
}

TEST(MeasuredMachine, LiesWithTheSettingsOfTheUser) {
    const auto in_config = measured_file(environment_of({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}}));
    EXPECT_TRUE(in_config.starts_with("/c/ziggurat/machine-")) << in_config;
    const auto in_home = measured_file(environment_of({{"XDG_CONFIG_HOME", ""}, {"HOME", "/h"}}));
    EXPECT_TRUE(in_home.starts_with("/h/.config/ziggurat/machine-")) << in_home;
    EXPECT_EQ(measured_file(environment_of({})), "");
}

TEST(MeasuredMachine, LeavesMemoryAndCoresAsTheProcessHasThem) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("m.yaml")} << machine_text(measured());
    spec::MachineSpec machine{.cores_per_node = 3, .host_bytes = 1 << 20};
    Diagnostics found;

    add_measured(folder.file("m.yaml"), machine, found);
    add_measured(folder.file("nothing.yaml"), machine, found);
    add_measured("", machine, found);

    EXPECT_EQ(machine.cores_per_node, 3);
    EXPECT_EQ(machine.host_bytes, 1 << 20);
    EXPECT_EQ(machine.nvme_read_rate, 3.5e9);
    EXPECT_EQ(machine.measured_ranks, 2);
    EXPECT_EQ(machine.threads_per_rank, 3);
    EXPECT_EQ(machine.nvme_queue_depth, 16);
    EXPECT_EQ(machine.seconds_to_failure, 90 * 86400);
    EXPECT_EQ(machine.restart_seconds, 95.5);
    EXPECT_EQ(machine.checkpoint_rate, 1.5e9);
    EXPECT_EQ(machine.price_per_hour, 12.25);
    EXPECT_EQ(machine.bf16_products, measured().bf16_products);
    EXPECT_EQ(machine.network_link, measured().network_link);
    EXPECT_EQ(machine.sweeps, measured().sweeps);
    EXPECT_EQ(found.print(), Diagnostics{}.print());
}

TEST(MeasuredMachine, IsAWarningWhenItCannotBeRead) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("m.yaml")} << "machine_version: 1\nnvme_block: often\n";
    spec::MachineSpec machine;
    Diagnostics found;

    add_measured(folder.file("m.yaml"), machine, found);

    EXPECT_EQ(found.errors(), 0u);
    EXPECT_EQ(found.warnings(), 1u);
    EXPECT_EQ(machine.nvme_block_bytes, 0);
}

TEST(MeasuredMachine, IsNotUsedForOtherGpus) {
    const test::ScratchFolder folder;
    const spec::MachineSpec gpus{.has_device = true,
                                 .device_bytes = std::int64_t{80} << 30,
                                 .device_multiprocessors = 132,
                                 .device_capability = 90};
    auto of_file = gpus;
    of_file.device_flops = 5e14;
    std::ofstream{folder.file("m.yaml")} << machine_text(of_file);
    auto same = gpus;
    auto other = gpus;
    other.device_multiprocessors = 108;
    other.device_capability = 80;
    Diagnostics found_same, found_other;

    add_measured(folder.file("m.yaml"), same, found_same);
    add_measured(folder.file("m.yaml"), other, found_other);

    EXPECT_EQ(same.device_flops, 5e14);
    EXPECT_EQ(found_same.warnings(), 0u);
    EXPECT_EQ(other.device_flops, 0);
    EXPECT_EQ(found_other.warnings(), 1u);
    EXPECT_NE(
        found_other.print().find("compute capability 9.0 with 132 multiprocessors, and this machine has "
                                 "GPUs of compute capability 8.0 with 108"),
        std::string::npos)
        << found_other.print();
}

TEST(MeasuredMachine, IsWhatTransfersOfADeckAreByDefault) {
    const test::ScratchFolder folder;
    const auto environment = environment_of({{"HOME", folder.path()}});
    const auto deck =
        "deck_version: 1\nmodel: {family: gpt2, layers: 2, hidden: 32, heads: 2}\ndata: {seq: 16, "
        "train: [{format: text, path: '" +
        folder.file("text.txt") + "'}]}\ntrain: {steps: 9, global_batch: 8, micro_batch: 2}\n";
    std::ofstream{folder.file("text.txt")} << std::string(5000, 'a');
    const auto tiers = [&](const std::vector<std::string>& overrides = {}) {
        const auto loaded = load_text(deck, "deck", overrides, {.ranks = 1, .environment = environment});
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.run.tiers;
    };
    EXPECT_EQ(tiers().nvme_block_bytes, 1 << 20);
    EXPECT_EQ(tiers().nvme_queue_depth, 32);

    const auto path = measured_file(environment);
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    std::ofstream{path} << machine_text(measured());

    EXPECT_EQ(tiers().nvme_block_bytes, 256 << 10);
    EXPECT_EQ(tiers().nvme_queue_depth, 16);
    EXPECT_EQ(tiers({"tiers.nvme.queue_depth=4"}).nvme_queue_depth, 4);
}

}  // namespace
}  // namespace ziggurat::deck
