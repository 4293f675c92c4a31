/// Leases `auto`: chosen once if several stages gather sharded parameters, and written to the deck.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "deck/load.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

class AutoLeases : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream{folder_ / "text.txt"} << std::string(5000, 'a');
        options_.ranks = 4;
        options_.environment = [](const std::string&) { return std::optional<std::string>{}; };
        options_.choose_leases = [this](const spec::RunSpec&, const spec::MachineSpec&) {
            ++asked_;
            return holds_;
        };
    }
    void TearDown() override { fs::remove_all(folder_); }

    LoadedDeck load(const std::vector<std::string>& overrides) const {
        return load_text(
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
            "data: {seq: 16, train: [{format: text, path: '" +
                (folder_ / "text.txt").string() +
                "'}]}\n"
                "train: {steps: 100, global_batch: 24, micro_batch: 2}\n",
            "deck.yaml", overrides, options_);
    }

    LoadOptions options_;
    bool holds_ = true;
    int asked_ = 0;
    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_leases_" + std::to_string(::getpid()));
};

TEST_F(AutoLeases, AreOfAStepWhereTheBudgetsHoldThem) {
    for (const bool holds : {true, false}) {
        holds_ = holds;
        asked_ = 0;

        const auto loaded = load({"sharding.zero=3", "parallel.pipeline=2"});

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(asked_, 1);
        EXPECT_EQ(loaded.run.sharding.leases, holds ? spec::LeaseSpan::step : spec::LeaseSpan::pass);
        EXPECT_NE(loaded.effective.find(holds ? "leases: step" : "leases: pass"), std::string::npos);
        const auto again = load_text(loaded.effective, "effective", {}, options_);
        ASSERT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(asked_, 1) << "it is written down";
        EXPECT_EQ(again.run.sharding, loaded.run.sharding);
        EXPECT_EQ(again.found.warnings(), 0u) << again.found.print();
    }
}

TEST_F(AutoLeases, AreNotAskedForWhereTheyAreOfNoUse) {
    for (const std::vector<std::string>& overrides :
         {std::vector<std::string>{"sharding.zero=3"},
          {"sharding.zero=2", "parallel.pipeline=2"},
          {"sharding.zero=3", "parallel.pipeline=2", "tiers.home.parameters=host"},
          {"sharding.zero=3", "parallel.pipeline=2", "sharding.leases=pass"}}) {
        const auto loaded = load(overrides);

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(asked_, 0);
        EXPECT_EQ(loaded.run.sharding.leases, spec::LeaseSpan::pass);
        EXPECT_EQ(load_text(loaded.effective, "effective", {}, options_).found.warnings(), 0u);
    }
}

}  // namespace
}  // namespace ziggurat::deck
