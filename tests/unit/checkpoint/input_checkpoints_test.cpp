#include "checkpoint/catalogue/input_checkpoints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "deck/load.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* deck_text = R"(deck_version: 1
model: {family: gpt2, layers: 2, hidden: 32, heads: 4, vocab: 256, max_seq: 16, init: {from: checkpoint, path: base}}
data: {tokenizer: bytes, seq: 16, train: [{format: text, path: TEXT}]}
train: {steps: 10, global_batch: 12, micro_batch: 1}
)";

class InputCheckpointsTest : public ::testing::Test {
  protected:
    InputCheckpointsTest() : before_{fs::current_path()} {
        fs::current_path(folder_.path());
        fs::create_directories(saved);
        std::ofstream{"TEXT"} << std::string(2000, 'x');
        std::ofstream{saved + "/COMPLETE"} << "any";
    }
    ~InputCheckpointsTest() override { fs::current_path(before_); }

    static std::string effective() {
        const auto loaded = deck::load_text(deck_text, "a.yaml", {}, {.ranks = 1, .threads = 1});
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.effective;
    }

    const std::string saved = "base/ckpt/step-000000010";

  private:
    test::ScratchFolder folder_;
    fs::path before_;
};

TEST_F(InputCheckpointsTest, NamesACheckpoint) {
    const auto deck = effective();
    EXPECT_EQ(input_path(deck, init_key), "base");
    EXPECT_EQ(input_path(deck, reference_key), "");  // the keyword start
    const auto changed = with_input(deck, init_key, saved);
    EXPECT_EQ(input_path(changed, init_key), saved);
    EXPECT_EQ(with_input(changed, init_key, saved), changed);
    const auto reread = deck::load_text(changed, "changed.yaml", {}, {.ranks = 1, .threads = 1});
    EXPECT_TRUE(reread.ok()) << reread.found.print();
    EXPECT_EQ(std::ranges::count(changed, '\n'), std::ranges::count(deck, '\n'));
}

TEST_F(InputCheckpointsTest, KeepsTheCheckpointOfTheRunThatADeckNames) {
    const auto recorded = with_input(effective(), init_key, saved);
    for (const char* named : {"base", "base/", "base/ckpt", "./base"}) {
        const auto present = with_input(effective(), init_key, named);
        EXPECT_EQ(input_path(with_recorded_inputs(recorded, present), init_key), saved) << named;
    }
    const auto best = with_input(effective(), init_key, "base/best");
    EXPECT_EQ(input_path(with_recorded_inputs(recorded, best), init_key), saved);
}

TEST_F(InputCheckpointsTest, KeepsTheCheckpointAfterItWasRemoved) {
    const auto recorded = with_input(effective(), init_key, saved);
    fs::remove_all(saved);
    EXPECT_EQ(input_path(with_recorded_inputs(recorded, with_input(effective(), init_key, "base")), init_key),
              saved);
}

TEST_F(InputCheckpointsTest, TakesOtherInputsFromTheDeck) {
    const auto recorded = with_input(effective(), init_key, saved);
    fs::create_directories("other/ckpt/step-000000010");
    std::ofstream{"other/ckpt/step-000000010/COMPLETE"} << "any";
    fs::create_directories("base/ckpt/step-000000020");
    std::ofstream{"base/ckpt/step-000000020/COMPLETE"} << "any";
    for (const char* named : {"other", "other/ckpt", "base/ckpt/step-000000020"}) {
        const auto present = with_input(effective(), init_key, named);
        EXPECT_EQ(with_recorded_inputs(recorded, present), present) << named;
    }
    EXPECT_EQ(with_recorded_inputs("no deck", recorded), recorded);
    EXPECT_EQ(with_recorded_inputs(recorded, "no deck"), "no deck");
}

}  // namespace
}  // namespace ziggurat::checkpoint
