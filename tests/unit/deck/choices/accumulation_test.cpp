/// Order of micro-batches `auto`: chosen once by the planned step, and written to the deck.
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

using enum spec::AccumulationOrder;

class AutoAccumulation : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream{folder_ / "text.txt"} << std::string(5000, 'a');
        options_.ranks = 2;
        options_.environment = [](const std::string&) { return std::optional<std::string>{}; };
        options_.choose_accumulation = [this](const spec::RunSpec&, const spec::MachineSpec&) {
            ++asked_;
            return spec::AccumulationChoice{chosen_, "it is planned so"};
        };
    }
    void TearDown() override { fs::remove_all(folder_); }

    LoadedDeck load(std::vector<std::string> overrides) const {
        overrides.insert(overrides.begin(), "train.accumulate=auto");
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
    spec::AccumulationOrder chosen_ = by_layer;
    int asked_ = 0;
    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_accumulation_" + std::to_string(::getpid()));
};

TEST_F(AutoAccumulation, IsTheOrderOfThePlanAndWrittenDown) {
    for (const auto order : {by_layer, by_micro_batch}) {
        chosen_ = order;
        asked_ = 0;

        const auto loaded = load({"sharding.zero=3"});

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(asked_, 1);
        EXPECT_EQ(loaded.run.train.accumulate, order);
        EXPECT_NE(
            loaded.effective.find(order == by_layer ? "accumulate: by_layer" : "accumulate: by_micro_batch"),
            std::string::npos);
        EXPECT_NE(loaded.effective.find("auto: it is planned so"), std::string::npos);
        const auto again = load_text(loaded.effective, "effective", {}, options_);
        ASSERT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(asked_, 1) << "it is written down";
        EXPECT_EQ(again.run, loaded.run);
        EXPECT_EQ(again.found.warnings(), 0u) << again.found.print();
    }
}

TEST_F(AutoAccumulation, IsByMicroBatchWithoutAPlanIfNothingIsGained) {
    for (const std::vector<std::string>& overrides :
         {std::vector<std::string>{"sharding.zero=2"},
          {"sharding.zero=3", "train.global_batch=4"},
          {"sharding.zero=3", "parallel.pipeline=2"},
          {"sharding.zero=3", "train.accumulate=by_micro_batch"}}) {
        const auto loaded = load(overrides);

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(asked_, 0);
        EXPECT_EQ(loaded.run.train.accumulate, by_micro_batch);
        EXPECT_EQ(load_text(loaded.effective, "effective", {}, options_).found.warnings(), 0u);
    }
}

TEST_F(AutoAccumulation, IsByMicroBatchIfNoPlannerIsGiven) {
    options_.choose_accumulation = {};

    EXPECT_EQ(load({"sharding.zero=3"}).run.train.accumulate, by_micro_batch);
}

}  // namespace
}  // namespace ziggurat::deck
