/// Fates of activations that the planner chooses are written into the effective deck and read back.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "deck/load.hpp"
#include "layout/cuda_workspaces.hpp"
#include "plan/plan_run.hpp"
#include "plan/search/fastest_homes.hpp"
#include "schedule/build_program.hpp"
#include "schedule/print_program.hpp"
#include "spec/fates.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* text =
    "deck_version: 1\n"
    "model: {family: gpt2, layers: 6, hidden: 1024, heads: 16, max_seq: 512}\n"
    "data: {tokenizer: bytes, seq: 512, train: [{format: text, path: none.txt}]}\n"
    "train: {steps: 10, global_batch: 8, micro_batch: 8}\n";

LoadedDeck load_deck(const std::string& deck,
                     const std::vector<std::string>& overrides,
                     double link,
                     int ranks = 1) {
    const spec::MachineSpec machine{.name = "test",
                                    .has_device = true,
                                    .ranks_per_node = 1,
                                    .cores_per_node = 16,
                                    .device_bytes = 80LL << 30,
                                    .host_bytes = 256LL << 30,
                                    .host_to_device_rate = link,
                                    .device_to_host_rate = link,
                                    .device_flops = 250e12,
                                    .device_bandwidth = 1.6e12};
    LoadOptions options{.ranks = ranks, .machine = machine, .needs_data = false};
    options.choose_homes = [](const spec::RunSpec& run, const spec::MachineSpec& at) {
        return plan::choose_fastest_homes(run, at);
    };
    return load_text(deck, "deck", overrides, options);
}

std::string printed(const spec::RunSpec& run) {
    const auto program = schedule::build_program(run, 0, schedule::Variant::train);
    std::vector<int> all(program.ops.size());
    std::iota(all.begin(), all.end(), 0);
    std::string text_of_ops;
    schedule::print_ops(program, all, [&](std::string_view part) { text_of_ops += part; });
    return text_of_ops;
}

class ChosenFates : public ::testing::Test {
  protected:
    /// Returns a budget that some activations do not fit.
    static std::string budget(double share, const std::vector<std::string>& overrides = {}, int ranks = 1) {
        auto run = load_deck(text, overrides, 12e9, ranks).run;
        const auto all = plan::plan_run(run).footprint.needed[0];
        run.recompute.kind = spec::RecomputeKind::full;
        run.tiers.activations = {0, 1, 0};
        const auto min = plan::plan_run(run).footprint.needed[0];
        const auto bytes = min + static_cast<std::int64_t>(share * static_cast<double>(all - min));
        return "tiers.device.budget=" + std::to_string(bytes) + "B";
    }
};

TEST_F(ChosenFates, AreReadBackFromTheEffectiveDeck) {
    for (const double link : {4e9, 40e9}) {
        const auto loaded =
            load_deck(text, {"recompute=auto", "tiers.home.activations=auto", budget(0.5)}, link);
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        ASSERT_FALSE(loaded.run.recompute.fates.empty()) << link;
        EXPECT_NE(loaded.effective.find("fates: " + spec::write_fates(loaded.run.recompute.fates)),
                  std::string::npos)
            << loaded.effective;

        const auto again = load_deck(loaded.effective, {}, link);
        ASSERT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(again.run.recompute, loaded.run.recompute);
        EXPECT_EQ(printed(again.run), printed(loaded.run));
    }
}

TEST_F(ChosenFates, OfStagesAreReadBackFromTheEffectiveDeck) {
    // In GPT-2, fates separate GELU from its products, so that full recomputation is faster.
    std::vector<std::string> overrides{"model.family=llama", "parallel.pipeline.stages=2",
                                       "train.global_batch=64"};
    const auto bytes = budget(0.2, overrides, 2);
    overrides.insert(overrides.end(), {"recompute=auto", "tiers.home.activations=auto", bytes});
    const auto loaded = load_deck(text, overrides, 40e9, 2);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_FALSE(loaded.run.recompute.fates.empty()) << loaded.effective;
    EXPECT_NE(loaded.effective.find("fates: " + spec::write_fates(loaded.run.recompute.fates)),
              std::string::npos)
        << loaded.effective;
    EXPECT_TRUE(plan::plan_run(loaded.run).footprint.fits());

    const auto again = load_deck(loaded.effective, {}, 40e9, 2);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run.recompute, loaded.run.recompute);
    EXPECT_EQ(again.run.stages, loaded.run.stages);
    EXPECT_EQ(printed(again.run), printed(loaded.run));
}

TEST_F(ChosenFates, OfStagesAreNoneIfStagesDiffer) {
    const auto loaded =
        load_deck(text,
                  {"recompute=auto", "tiers.home.activations=auto", "train.global_batch=16",
                   "parallel.pipeline={stages: 2, each: [{layers: 3}, {layers: 3, recompute: full}]}"},
                  40e9, 2);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_TRUE(loaded.run.recompute.fates.empty());
    EXPECT_NE(loaded.effective.find("fates: none"), std::string::npos) << loaded.effective;
}

TEST_F(ChosenFates, AreNoneIfTheDeckSetsAKindOrAHome) {
    for (const auto* set : {"recompute.kind=full", "tiers.home.activations=host"}) {
        const auto loaded =
            load_deck(text, {"recompute=auto", "tiers.home.activations=auto", budget(0.5), set}, 12e9);
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_TRUE(loaded.run.recompute.fates.empty());
        EXPECT_NE(loaded.effective.find("fates: none"), std::string::npos);
    }
}

}  // namespace
}  // namespace ziggurat::deck
