/// Pipeline stages of a deck, and the display of values left to the planner.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "deck/load.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::deck {
namespace {

using Layers = std::vector<std::int64_t>;

class Stages : public ::testing::Test {
  protected:
    void SetUp() override { std::ofstream{folder_.file("text.txt")} << std::string(5000, 'a'); }

    /// Loads a deck whose vocabulary costs about as much as two layers.
    LoadedDeck load_with(const std::string& pipeline, int batch = 8, const std::string& more = "") const {
        return load_text(
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 6, hidden: 32, heads: 2, vocab: 800}\n"
            "train: {steps: 10, global_batch: " +
                std::to_string(batch) +
                ", micro_batch: 1}\n"
                "data: {seq: 16, train: [{format: text, path: " +
                folder_.file("text.txt") + "}]}\nparallel: {pipeline: " + pipeline + "}\n" + more,
            "deck", {}, options());
    }
    LoadedDeck again(const LoadedDeck& loaded) const {
        return load_text(loaded.effective, "effective", {}, options());
    }

    test::ScratchFolder folder_;

  private:
    static LoadOptions options() {
        LoadOptions options;
        options.environment = [](const std::string&) { return std::optional<std::string>{}; };
        options.choose_homes = [](const spec::RunSpec& run, const spec::MachineSpec&) {
            auto chosen = run;
            chosen.tiers.open = {};
            chosen.recompute.is_auto = false;
            for (auto& state : chosen.stages) {
                const bool has_chunks = run.tiers.movement == spec::Movement::chunks;
                EXPECT_TRUE(state.open.optimizer && (state.recompute.is_auto || has_chunks));
                state.open = {};
                state.recompute.is_auto = false;
            }
            chosen.stages.back().recompute.kind = spec::RecomputeKind::full;
            chosen.stages.back().optimizer = {0.25, 0.75, 0};
            return chosen;
        };
        return options;
    }
};

TEST_F(Stages, HaveTheLayersThatAutoSpreadsShownAndReadBack) {
    const auto loaded = load_with("{stages: 2}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.parallel.stage_layers, (Layers{4, 2}));
    EXPECT_NE(loaded.effective.find("each: [{layers: 4}, {layers: 2}]"), std::string::npos)
        << loaded.effective;
    EXPECT_EQ(again(loaded).run, loaded.run);
    EXPECT_EQ(again(loaded).found.warnings(), loaded.found.warnings());
}

TEST_F(Stages, HaveTheLayersOfEachChunkThatTheDeckNames) {
    const auto loaded = load_with(
        "{stages: 2, schedule: interleaved, chunks_per_stage: 2, each: [{layers: [2, 1]}, "
        "{layers: [1, 2]}]}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.parallel.stage_layers, (Layers{2, 1, 1, 2}));
    EXPECT_EQ(again(loaded).run, loaded.run);
}

TEST_F(Stages, OfSeveralChunksAreSpreadToo) {
    const auto loaded = load_with("{stages: 2, schedule: interleaved, chunks_per_stage: 2}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.parallel.stage_layers, (Layers{2, 1, 2, 1}));
    EXPECT_NE(loaded.effective.find("each: [{layers: [2, 2]}, {layers: [1, 1]}]"), std::string::npos);
}

TEST_F(Stages, TakeMicroBatchesThatTheyDoNotDivideInterleaved) {
    EXPECT_TRUE(load_with("{stages: 2, schedule: interleaved, chunks_per_stage: 2}", 3).ok());
}

TEST_F(Stages, HaveRecomputationAndHomesOfTheirOwn) {
    const auto loaded = load_with(
        "{stages: 2, schedule: interleaved, chunks_per_stage: 2, each: [{layers: [2, 1], recompute: {kind: "
        "full, "
        "every: 2}}, {layers: [1, 2], home: {optimizer: host, activations: {device: 25%, host: rest}}}]}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(loaded.run.stages.size(), 2u);
    EXPECT_EQ(loaded.run.stages[0].recompute, (spec::Recompute{spec::RecomputeKind::full, 2}));
    EXPECT_EQ(loaded.run.stages[0].optimizer, spec::Home{});
    EXPECT_EQ(loaded.run.stages[1].recompute, spec::Recompute{});
    EXPECT_EQ(loaded.run.stages[1].optimizer, (spec::Home{0, 1, 0}));
    EXPECT_EQ(loaded.run.stages[1].activations, (spec::Home{0.25, 0.75, 0}));
    EXPECT_EQ(again(loaded).run, loaded.run);
}

TEST_F(Stages, TakeAWordForTheKindOfRecomputation) {
    const auto loaded = load_with("{stages: 2, each: [{layers: 3, recompute: full}, {layers: 3}]}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(loaded.run.stages.size(), 2u);
    EXPECT_EQ(loaded.run.stages[0].recompute.kind, spec::RecomputeKind::full);
}

TEST_F(Stages, SayNothingWhereAllAreAsTheDeckIs) {
    const auto loaded = load_with(
        "{stages: 2, each: [{layers: 3, recompute: none}, {layers: 3, home: {optimizer: device}}]}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_TRUE(loaded.run.stages.empty());
}

TEST_F(Stages, SumGradientsThatLeaveOneOfThemAtOnce) {
    const auto loaded = load_with("{stages: 2, each: [{layers: 3}, {layers: 3, home: {gradients: host}}]}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.sharding.reduce, spec::ReducePlan::each_microbatch);
}

/// Chosen values are adopted, and shown in a form that can be read back. The planner represents any
/// chooser.
TEST_F(Stages, ShowWhatWasChosenForEach) {
    for (const char* each : {"auto", "[{layers: 4}, {layers: 2}]",
                             "[{layers: 4, home: {optimizer: auto}}, {layers: 2, recompute: auto}]"}) {
        const auto loaded = load_with(fmt::format("{{stages: 2, each: {}}}", each), 8,
                                      "recompute: auto\ntiers: {home: {optimizer: auto}}\n");

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        ASSERT_EQ(loaded.run.stages.size(), 2u);
        if (std::string_view{each} == "auto") {
            EXPECT_NE(
                loaded.effective.find("each: [{layers: 4}, {layers: 2, recompute: {kind: full, every: 1}, "
                                      "home: {optimizer: {device: 25%, host: rest}}}]"),
                std::string::npos)
                << loaded.effective;
        } else {
            // Values of the deck keep their origin, and a resumed run makes only the other choices again.
            for (const char* value : {"- layers: 4 ", "- layers: 2 "}) {
                const auto at = loaded.effective.find(value);
                ASSERT_NE(at, std::string::npos) << loaded.effective;
                const auto line = loaded.effective.substr(at, loaded.effective.find('\n', at) - at);
                EXPECT_NE(line.find("# deck "), std::string::npos) << line;
            }
            EXPECT_NE(loaded.effective.find("optimizer: {device: 25%, host: rest} "), std::string::npos)
                << loaded.effective;
        }
        EXPECT_EQ(again(loaded).run, loaded.run);
        EXPECT_EQ(again(loaded).effective.find("auto\n"), std::string::npos);
    }
}

/// Homes of chunks are auto in every deck, so the deck that is shown has no others.
TEST_F(Stages, ShowNoHomesOfChunks) {
    const auto loaded = load_with("{stages: 2}", 8, "recompute: auto\ntiers: {movement: chunks}\n");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.stages.back().optimizer.host, 0.75);
    EXPECT_NE(loaded.effective.find("each: [{layers: 4}, {layers: 2, recompute: {kind: full, every: 1}}]"),
              std::string::npos)
        << loaded.effective;
    ASSERT_TRUE(again(loaded).ok()) << again(loaded).found.print();
    EXPECT_EQ(again(loaded).run, loaded.run);
}

TEST_F(Stages, AreNotShownWhereThereIsOne) {
    const auto loaded = load_with("{stages: 1}");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.effective.find("each:"), std::string::npos);
    EXPECT_TRUE(loaded.run.parallel.stage_layers.empty());
}

}  // namespace
}  // namespace ziggurat::deck
