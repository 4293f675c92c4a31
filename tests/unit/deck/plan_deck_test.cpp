/// Checkpoint keys of a deck, and keys that a plan does not need.
#include <gtest/gtest.h>

#include "deck/load.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::deck {
namespace {

class PlanDecks : public ::testing::Test {
  protected:
    void SetUp() override { std::ofstream{folder_.file("text.txt")} << std::string(5000, 'a'); }

    LoadedDeck load_with(const std::string& data, const std::string& more, bool needs_data) const {
        LoadOptions options{.ranks = 2, .needs_data = needs_data};
        options.machine = spec::MachineSpec{.name = "test",
                                            .has_device = false,
                                            .ranks_per_node = 2,
                                            .cores_per_node = 2,
                                            .host_bytes = std::int64_t{8} << 30};
        return load_text(
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 2, hidden: 32, heads: 2, vocab: 300}\n"
            "train: {steps: 10, global_batch: 8, micro_batch: 2}\n"
            "data: {seq: 16, " +
                data + "}\n" + more,
            "deck", {}, options);
    }

    std::string unchanged() const {
        return "train: [{format: text, path: " + folder_.file("text.txt") + "}]";
    }

    LoadedDeck saving(const std::string& more) const { return load_with(unchanged(), more, true); }

    test::ScratchFolder folder_;
};

TEST_F(PlanDecks, SaveEachHalfHourUnlessTheySayOtherwise) {
    const spec::Interval half_an_hour{.steps = 0, .seconds = 1800};
    const auto silent = saving("");
    EXPECT_EQ(silent.run.checkpoint.every, half_an_hour);
    EXPECT_EQ(silent.found.warnings(), 0) << silent.found.print();
    EXPECT_NE(silent.effective.find("every: 30min "), std::string::npos) << silent.effective;

    const auto automatic = saving("checkpoint: auto\n");
    EXPECT_EQ(automatic.run.checkpoint, silent.run.checkpoint);
    EXPECT_NE(automatic.effective.find("every: 30min "), std::string::npos) << automatic.effective;

    const auto never = saving("checkpoint: none\n");
    EXPECT_TRUE(never.ok());
    EXPECT_EQ(never.run.checkpoint.every, std::nullopt);
    EXPECT_EQ(never.found.warnings(), 1);
    EXPECT_NE(never.found.print().find("no checkpoint is saved"), std::string::npos) << never.found.print();
    LoadOptions anywhere{.ranks = 2, .threads = 1};  // ignores measurements of this machine
    anywhere.environment = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
    EXPECT_EQ(load_text(never.effective, "effective", {}, anywhere).found.warnings(), 1)
        << "of that alone: the effective deck says what is default";
}

TEST_F(PlanDecks, TakeMissingTokensAsANoteWhereNoneAreRead) {
    const std::string tokens = "tokenizer: none, ";
    const std::vector<std::string> ways{"train: [{format: text, path: missing.txt}]",
                                        "train: [{format: text, path: 'missing*.txt'}]",
                                        tokens + "train: [{format: llmc, path: missing.bin}]",
                                        tokens + "train: [{format: megatron, path: missing}]",
                                        unchanged() + ", validation: [{format: text, path: missing.txt}]"};
    for (const auto& data : ways) {
        const std::string more = "validate: {every: 5 steps}\n";
        const auto planned = load_with(data, data.find("valid") == std::string::npos ? "" : more, false);
        EXPECT_TRUE(planned.ok() && planned.found.warnings() == 0) << planned.found.print();
        EXPECT_EQ(planned.found.notes(), 1) << planned.found.print();
        EXPECT_NE(planned.found.print().find("is not here"), std::string::npos) << planned.found.print();

        const auto trained = load_with(data, more, true);
        EXPECT_FALSE(trained.ok()) << data;
    }
}

TEST_F(PlanDecks, TakeMissingCheckpointsAsANoteToo) {
    const std::vector<std::vector<std::string>> ways{
        {"model.init.from=checkpoint", "model.init.path=missing"}, {"run.resume=missing"}};
    for (const auto& overrides : ways) {
        LoadOptions options{.ranks = 1, .threads = 1};
        const std::string deck =
            "deck_version: 1\nmodel: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
            "train: {steps: 10, global_batch: 8, micro_batch: 2}\ndata: {seq: 16, " +
            unchanged() + "}\n";
        EXPECT_FALSE(load_text(deck, "deck", overrides, options).ok());
        options.needs_data = false;
        const auto planned = load_text(deck, "deck", overrides, options);
        EXPECT_TRUE(planned.ok()) << planned.found.print();
        EXPECT_EQ(planned.found.notes(), 1) << planned.found.print();
    }
}

}  // namespace
}  // namespace ziggurat::deck
