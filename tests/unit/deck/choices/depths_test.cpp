/// Depths `auto`: chosen once homes are known, written to the deck, and read back unchanged.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "deck/load.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

class Depths : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream{folder_ / "text.txt"} << std::string(5000, 'a');
        options_.ranks = 2;
        options_.environment = [](const std::string&) { return std::optional<std::string>{}; };
        options_.choose_depths = [this](const spec::RunSpec& run, const spec::MachineSpec&,
                                        spec::AutoDepths open) {
            ++asked_;
            return spec::Depths{open.prefetch ? 3 : run.overlap.prefetch,
                                open.optimizer_prefetch ? 12 : run.overlap.optimizer_prefetch,
                                open.chunk ? 1 << 19 : run.tiers.chunk_elements,
                                "three are best",
                                "as many as fit",
                                "eight"};
        };
    }
    void TearDown() override { fs::remove_all(folder_); }

    LoadedDeck load_with(const std::string& rest) const {
        return load_text(
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
            "data: {seq: 16, train: [{format: text, path: '" +
                (folder_ / "text.txt").string() +
                "'}]}\n"
                "train: {steps: 100, global_batch: 24, micro_batch: 2}\n" +
                rest + "\n",
            "deck.yaml", {}, options_);
    }

    LoadOptions options_;
    int asked_ = 0;
    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_depths_" + std::to_string(::getpid()));
};

TEST_F(Depths, AreAskedForAndWrittenDown) {
    const auto loaded = load_with("tiers: {home: {optimizer: host}}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.overlap.prefetch, 3);
    EXPECT_EQ(loaded.run.tiers.chunk_elements, 1 << 19);
    EXPECT_EQ(loaded.depths, "prefetch 3 (three are best); chunks of 524,288 elements (eight)");
    EXPECT_NE(loaded.effective.find("# auto: three are best"), std::string::npos) << loaded.effective;

    const auto again = load_text(loaded.effective, "effective", {}, options_);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run.overlap, loaded.run.overlap);
    EXPECT_EQ(again.run.tiers, loaded.run.tiers);
    EXPECT_EQ(asked_, 1);
}

TEST_F(Depths, OfOptimizerStatesAreSaidWhereThereIsADisk) {
    const auto loaded = load_with("tiers: {nvme: {paths: [/tmp]}, home: {optimizer: nvme}}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.overlap.optimizer_prefetch, 12);
    EXPECT_NE(loaded.depths.find("; optimizer states 12 (as many as fit); chunks"), std::string::npos)
        << loaded.depths;
}

TEST_F(Depths, ThatTheDeckGivesStay) {
    const auto loaded = load_with(
        "tiers: {chunk: 65536, home: {optimizer: host}}\noverlap: {prefetch: 0, optimizer_prefetch: 5}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.overlap.prefetch, 0);
    EXPECT_EQ(loaded.run.overlap.optimizer_prefetch, 5);
    EXPECT_EQ(loaded.run.tiers.chunk_elements, 65536);
    EXPECT_EQ(asked_, 0);
}

TEST_F(Depths, AreNotAskedForWhereNothingMoves) {
    const auto loaded = load_with("tiers: {home: {optimizer: device}}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.overlap.prefetch, 1);
    EXPECT_EQ(loaded.run.tiers.chunk_elements, 4 << 20);
    EXPECT_EQ(loaded.depths, "");
    EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace ziggurat::deck
