/// Homes `auto`: chosen once, written to the deck, and read back unchanged; keys without effect are
/// reported.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "deck/load.hpp"
#include "deck/machine/machine.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

class Tiers : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream{folder_ / "text.txt"} << std::string(5000, 'a');
        options_.ranks = 2;
        options_.environment = [](const std::string&) { return std::optional<std::string>{}; };
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string deck(const std::string& tiers) const {
        return "deck_version: 1\n"
               "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
               "data: {seq: 16, train: [{format: text, path: '" +
               (folder_ / "text.txt").string() +
               "'}]}\n"
               "train: {steps: 100, global_batch: 24, micro_batch: 2}\n"
               "tiers: " +
               tiers + "\n";
    }

    LoadedDeck load_with(const std::string& tiers, const std::vector<std::string>& overrides = {}) const {
        return load_text(deck(tiers), "deck.yaml", overrides, options_);
    }
    std::size_t warnings_of(const std::string& effective) const {
        return load_text(effective, "effective", {}, options_).found.warnings();
    }

    /// Puts a third of the optimizer on the device and gradients on the host.
    void choose() {
        options_.choose_homes = [](const spec::RunSpec& run, const spec::MachineSpec&) {
            auto chosen = run;
            chosen.tiers.open = {};
            if (run.tiers.open.optimizer) {
                chosen.tiers.optimizer = {0.333333, 0.666667, 0};
            }
            if (run.tiers.open.gradients) {
                chosen.tiers.gradients = {0, 1, 0};
                chosen.sharding.reduce = spec::ReducePlan::each_microbatch;
            }
            return chosen;
        };
    }

    LoadOptions options_;
    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_homes_" + std::to_string(::getpid()));
};

using AutoHomes = Tiers;

TEST_F(AutoHomes, AreAskedForAndWrittenDown) {
    choose();
    const auto loaded = load_with("{home: {optimizer: auto, gradients: auto}}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_DOUBLE_EQ(loaded.run.tiers.optimizer.device, 0.333333);
    EXPECT_EQ(loaded.run.tiers.gradients, (spec::Home{0, 1, 0}));
    EXPECT_EQ(loaded.run.sharding.reduce, spec::ReducePlan::each_microbatch);
    EXPECT_NE(loaded.effective.find("optimizer: {device: 33.3333%, host: rest}"), std::string::npos);
    EXPECT_NE(loaded.effective.find("# auto: device, then host, then nvme, to their budgets"),
              std::string::npos);
    EXPECT_NE(loaded.effective.find("reduce: each_microbatch"), std::string::npos);

    const auto again = load_text(loaded.effective, "effective", {}, options_);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run.tiers, loaded.run.tiers);
    EXPECT_EQ(again.run.sharding.reduce, spec::ReducePlan::each_microbatch);
}

TEST_F(AutoHomes, OfGradientsAreClosedBySumsAfterTheLastMicroBatch) {
    choose();
    for (const char* reduce : {"at_end", "by_span"}) {
        const auto loaded = load_text(
            deck("{home: {optimizer: auto, gradients: auto}}") + "sharding: {reduce: " + reduce + "}\n",
            "deck.yaml", {}, options_);
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.run.tiers.gradients, spec::Home{});
        EXPECT_LT(loaded.run.tiers.optimizer.device, 1);
        EXPECT_NE(loaded.effective.find("gradients: device"), std::string::npos) << loaded.effective;
        const auto again = load_text(loaded.effective, "effective", {}, options_);
        EXPECT_TRUE(again.ok()) << again.found.print();
    }
}

TEST_F(AutoHomes, StayOpenWhereNobodyIsAsked) {
    const auto loaded = load_with("{home: {optimizer: auto}}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_TRUE(loaded.run.tiers.open.optimizer);
    EXPECT_FALSE(loaded.run.tiers.open.parameters);
}

TEST_F(AutoHomes, MayUseFoldersThatAreNamed) {
    choose();
    const auto loaded = load_with("{nvme: {paths: ['" + folder_.string() + "']}, home: {optimizer: auto}}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.found.warnings(), 0) << loaded.found.print();
}

TEST_F(AutoHomes, HaveTheSpaceThatIsFree) {
    const auto free = free_bytes({folder_.string(), folder_.string()});
    EXPECT_GT(free, 0);
    EXPECT_EQ(free_bytes({(folder_ / "nothing").string()}), 0);
    EXPECT_EQ(free_bytes({folder_.string(), "/proc"}), spec::unknown_space) << "it has no size";

    const auto loaded =
        load_with("{nvme: {paths: ['" + folder_.string() + "'], budget: 50%}, home: {optimizer: nvme}}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_GT(loaded.run.tiers.nvme_budget_bytes, 0);
    EXPECT_LT(loaded.run.tiers.nvme_budget_bytes, 3 * (free / 4))
        << "one disk, though it is named twice above";
    EXPECT_GT(loaded.machine.nvme_bytes, 3 * (loaded.run.tiers.nvme_budget_bytes / 2))
        << "no budget makes a disk larger";
}

TEST_F(Tiers, HaveTheSharesOfAHomeFromOneDeck) {
    const auto disk = folder_.string();
    std::ofstream{folder_ / "shared.yaml"} << "tiers: {nvme: {paths: ['" << disk
                                           << "']}, home: {optimizer: {host: 30%, nvme: rest}}}\n";
    const auto loaded = load_text(
        "include: [" + disk + "/shared.yaml]\n" + deck("{home: {optimizer: {device: 50%, host: rest}}}"),
        "deck.yaml", {}, options_);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.tiers.optimizer, (spec::Home{0.5, 0.5, 0}));
    EXPECT_EQ(loaded.run.tiers.nvme_paths, std::vector{disk}) << "keys merge all the same";
}

TEST_F(Tiers, WarnOfSettingsThatHaveNoEffect) {
    const std::string nvme = "{nvme: {paths: ['" + folder_.string() + "']}, home: {optimizer: nvme}}";
    for (const std::string setting :
         {"tiers.nvme.map=near", "tiers.nvme.budget=3GB", "tiers.nvme.verify=false",
          "tiers.nvme.endurance=1TB", "tiers.nvme.block=64KiB", "tiers.nvme.queue_depth=4",
          "debug.throttle.nvme_read=1MB/s", "debug.throttle.nvme_write=1MB/s",
          "debug.throttle.host_to_device=1MB/s", "debug.throttle.device_to_host=1MB/s",
          "overlap.optimizer_prefetch=9"}) {
        const auto on_device = load_with("{}", {setting});
        ASSERT_TRUE(on_device.ok()) << on_device.found.print();
        EXPECT_NE(on_device.found.print().find(setting.substr(0, setting.find('=')) + " has no effect"),
                  std::string::npos)
            << on_device.found.print();
        const auto on_nvme = load_with(nvme, {setting});
        EXPECT_EQ(on_nvme.found.warnings(), 0) << on_nvme.found.print();
    }
    EXPECT_EQ(warnings_of(load_with("{}").effective), 0u);
}

TEST_F(Tiers, DoNotWarnOfWhatIsChosenForThem) {
    options_.choose_depths = [](const spec::RunSpec&, const spec::MachineSpec&, spec::AutoDepths) {
        spec::Depths depths;
        depths.optimizer_prefetch = 4;
        depths.chunk_elements = 65536;
        return depths;
    };
    const auto loaded = load_with("{home: {optimizer: host}}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(warnings_of(loaded.effective), 0u);
}

}  // namespace
}  // namespace ziggurat::deck
