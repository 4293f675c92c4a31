/// Layouts `auto`: chosen once, written to the deck, and read back unchanged.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "deck/load.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

class AutoLayout : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream{folder_ / "text.txt"} << std::string(5000, 'a');
        options_.ranks = 8;
        options_.environment = [](const std::string&) { return std::optional<std::string>{}; };
        options_.choose_layout = [this](const spec::RunSpec& run, const spec::MachineSpec&,
                                        const spec::LayoutSpace& space, const spec::LayoutRules& rules) {
            asked_.push_back(space);
            ranks_ = run.parallel.ranks;
            spec::ChosenLayouts chosen{.runs = {}, .reason = "why"};
            for (const int tensor : tensors_) {
                chosen.runs.push_back(run);
                auto& made = chosen.runs.back();
                made.parallel.tensor = tensor;
                made.parallel.sequence = tensor > 1;
                made.parallel.stages = made.parallel.chunks_per_stage = 2;
                made.parallel.data = 2;
                made.sharding.parameters = spans_.parameters;
                made.sharding.gradients = spans_.gradients;
                made.sharding.optimizer = spans_.optimizer;
                made.train.micro_batch = 3;
                made.recompute.kind = spec::RecomputeKind::full;
            }
            const auto refused = [&](const spec::RunSpec& made) { return !rules(made, space).empty(); };
            if (!std::ranges::all_of(chosen.runs, refused)) {
                std::erase_if(chosen.runs, refused);
            }
            return chosen;
        };
    }
    void TearDown() override { fs::remove_all(folder_); }

    LoadedDeck load_with(const std::vector<std::string>& overrides) {
        const auto text =
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 4, hidden: 32, heads: 2}\n"
            "data: {seq: 16, train: [{format: text, path: '" +
            (folder_ / "text.txt").string() +
            "'}]}\n"
            "train: {steps: 100, global_batch: 24, micro_batch: 1}\n";
        return load_text(text, "deck.yaml", overrides, options_);
    }

    LoadOptions options_;
    std::vector<int> tensors_{2};  ///< of the layouts that the search returns
    spec::StateSpans spans_{1, 2, 2};
    std::vector<spec::LayoutSpace> asked_;
    int ranks_ = 0;
    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_layout_" + std::to_string(::getpid()));
};

const std::vector<std::string> all_open{
    "parallel.tensor=auto", "parallel.sequence=auto", "parallel.context=auto", "parallel.pipeline=auto",
    "sharding=auto",        "train.micro_batch=auto", "recompute=auto"};

TEST_F(AutoLayout, IsAskedForAndWrittenDown) {
    const auto loaded = load_with(all_open);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(asked_.size(), 1U);
    EXPECT_EQ(asked_.front(), spec::LayoutSpace{});
    EXPECT_EQ(ranks_, 8);
    const auto& run = loaded.run;
    EXPECT_EQ(run.parallel.tensor, 2);
    EXPECT_TRUE(run.parallel.sequence);
    EXPECT_EQ(run.parallel.stages, 2);
    EXPECT_EQ(run.parallel.chunks_per_stage, 2);
    EXPECT_EQ(run.parallel.pipeline_schedule, spec::PipelineSchedule::interleaved);
    EXPECT_EQ(run.parallel.data, 2);
    EXPECT_EQ(run.sharding.gradients, 2);
    EXPECT_EQ(run.sharding.parameters, 1);
    EXPECT_EQ(run.train.micro_batches, 4);
    EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::full);
    EXPECT_NE(loaded.effective.find("# auto: why"), std::string::npos) << loaded.effective;

    const auto again = load_text(loaded.effective, "effective", {}, options_);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(asked_.size(), 1U) << "a written layout is not chosen again";
    EXPECT_EQ(again.run.parallel.tensor, 2);
    EXPECT_EQ(again.run.sharding, run.sharding);
    EXPECT_EQ(again.run.recompute, run.recompute);
}

TEST_F(AutoLayout, KeepsWhatTheDeckSets) {
    const auto loaded = load_with({"parallel.tensor=auto", "parallel.pipeline={stages: 2, schedule: gpipe}",
                                   "sharding=1", "parallel.data=2"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    auto space = spec::no_layout_space;
    space.tensor = true;
    space.spans = spec::settings_of_stage(1);
    ASSERT_EQ(asked_.size(), 1U);
    EXPECT_EQ(asked_.front(), space);
    EXPECT_EQ(loaded.run.parallel.pipeline_schedule, spec::PipelineSchedule::gpipe);
    EXPECT_EQ(loaded.run.sharding.gradients, 1) << "the search does not change what is set";
    EXPECT_EQ(loaded.run.train.micro_batch, 1);
}

TEST_F(AutoLayout, KeepsAScheduleWithOpenStages) {
    const auto loaded = load_with({"parallel.pipeline={stages: auto, schedule: gpipe}"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(asked_.size(), 1U);
    EXPECT_TRUE(asked_.front().pipeline);
    EXPECT_FALSE(asked_.front().chunks);
    EXPECT_EQ(loaded.run.parallel.chunks_per_stage, 1);
}

TEST_F(AutoLayout, AsksTheRulesAboutEachLayout) {
    tensors_ = {4, 1};  // two heads cannot be divided by four ranks
    const auto loaded = load_with({"parallel.tensor=auto"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.parallel.tensor, 1);
    tensors_ = {4};
    const auto refused = load_with({"parallel.tensor=auto"});
    EXPECT_NE(refused.found.print().find("does not divide model.heads"), std::string::npos)
        << refused.found.print();
}

TEST_F(AutoLayout, IsRefusedWithTheReasonOfTheSearch) {
    options_.choose_layout = [](const auto&, const auto&, const auto&, const auto&) {
        return spec::ChosenLayouts{.runs = {}, .reason = "rates are unknown", .advice = "Measure."};
    };
    const auto loaded = load_with({"sharding=auto"});
    EXPECT_NE(loaded.found.print().find("sharding.zero is auto (rates are unknown). Measure."),
              std::string::npos)
        << loaded.found.print();
}

TEST_F(AutoLayout, IsNotSearchedForAWrongModel) {
    const auto loaded = load_with({"parallel.tensor=auto", "model.heads=3"});
    EXPECT_FALSE(loaded.ok());
    EXPECT_TRUE(asked_.empty());
    EXPECT_EQ(loaded.found.errors(), 1U) << loaded.found.print();
}

TEST_F(AutoLayout, LeavesSpansToTheSearch) {
    using Kind = spec::SpanSetting::Kind;
    const std::vector<std::string> degrees{"parallel.tensor=2",
                                           "parallel.pipeline={stages: 2, "
                                           "chunks_per_stage: 2, schedule: interleaved}",
                                           "train.micro_batch=3"};
    const auto load_sharding = [&](const std::string& sharding) {
        auto overrides = degrees;
        overrides.push_back("sharding=" + sharding);
        return load_with(overrides);
    };
    spans_ = {1, 1, 2};
    const auto loaded = load_sharding("{parameters: 1, gradients: auto, optimizer: all}");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(asked_.size(), 1U);
    EXPECT_EQ(
        asked_.front().spans,
        (spec::SpanSettings{.parameters = {Kind::number, 1}, .gradients = {}, .optimizer = {Kind::all}}));
    EXPECT_EQ(spec::spans_of(loaded.run.sharding), spans_);
    EXPECT_NE(loaded.effective.find("  gradients: 1"), std::string::npos) << loaded.effective;
    EXPECT_EQ(loaded.effective.find("zero:"), std::string::npos) << loaded.effective;
    const auto again = load_text(loaded.effective, "effective", {}, options_);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run, loaded.run);
    EXPECT_EQ(asked_.size(), 1U) << "written spans are not chosen again";

    const auto named = load_sharding("{zero: auto, optimizer: 2}");
    ASSERT_TRUE(named.ok()) << named.found.print();
    EXPECT_EQ(asked_.back().spans, (spec::SpanSettings{{}, {}, {Kind::number, 2}}));
    EXPECT_TRUE(named.run.sharding.is_by_span);
    EXPECT_EQ(named.effective.find("zero:"), std::string::npos) << named.effective;

    const auto node = load_sharding("{gradients: auto, optimizer: node}");
    EXPECT_EQ(asked_.back().spans, (spec::SpanSettings{{Kind::number, 1}, {}, {Kind::node}}));
    EXPECT_TRUE(node.ok()) << node.found.print();
}

TEST_F(AutoLayout, WritesSpansOrTheirStage) {
    const std::vector<std::string> overrides{"sharding=auto", "sharding.sum_group=2"};
    spans_ = {2, 2, 2};
    tensors_ = {1};
    options_.ranks = 2;
    const auto stage = load_with(overrides);
    ASSERT_TRUE(stage.ok()) << stage.found.print();
    EXPECT_EQ(asked_.front().spans, spec::SpanSettings{});
    EXPECT_EQ(asked_.front().sum_group, 2) << "a number stays";
    EXPECT_EQ(stage.sum_group, 2);
    EXPECT_NE(stage.effective.find("zero: 3"), std::string::npos) << stage.effective;

    options_.ranks = 4;
    spans_ = {1, 2, 2};
    options_.choose_layout = [this](const spec::RunSpec& run, const auto&, const auto&, const auto&) {
        spec::ChosenLayouts chosen{.runs = {run}, .reason = "why"};
        auto& sharding = chosen.runs.front().sharding;
        sharding.parameters = spans_.parameters;
        sharding.gradients = spans_.gradients;
        sharding.optimizer = spans_.optimizer;
        return chosen;
    };
    const auto spans = load_with(overrides);
    ASSERT_TRUE(spans.ok()) << spans.found.print();
    EXPECT_EQ(spec::spans_of(spans.run.sharding), spans_);
    EXPECT_EQ(spans.run.sharding.reduce, spec::ReducePlan::by_span);
    EXPECT_EQ(spans.effective.find("zero:"), std::string::npos) << spans.effective;
    EXPECT_NE(spans.effective.find("optimizer: 2"), std::string::npos) << spans.effective;
    const auto again = load_text(spans.effective, "effective", {}, options_);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run, spans.run);
}

TEST_F(AutoLayout, OfSpansNestsWithoutASearch) {
    options_.choose_layout = {};
    for (const auto& [sharding, spans] :
         {std::pair{"{parameters: 4, gradients: auto, optimizer: auto}", spec::StateSpans{4, 4, 4}},
          std::pair{"{parameters: auto, gradients: 2, optimizer: 4}", spec::StateSpans{2, 2, 4}},
          std::pair{"{parameters: auto, gradients: auto, optimizer: 8}", spec::StateSpans{1, 1, 8}},
          std::pair{"{zero: auto, optimizer: 8}", spec::StateSpans{1, 1, 8}}}) {
        const auto loaded = load_with({std::string{"sharding="} + sharding, "train.micro_batch=3"});
        ASSERT_TRUE(loaded.ok()) << sharding << loaded.found.print();
        EXPECT_EQ(spec::spans_of(loaded.run.sharding), spans) << sharding;
    }
}

TEST_F(AutoLayout, ExcludesSettingsOfStagesAndASecondCopy) {
    const auto each = load_with({"parallel.pipeline={stages: auto, each: [{layers: 2}, {layers: 2}]}"});
    EXPECT_NE(each.found.print().find("parallel.pipeline.each names the stages"), std::string::npos)
        << each.found.print();
    const auto copy = load_with({"sharding={zero: auto, secondary: node}"});
    EXPECT_NE(copy.found.print().find("sharding.secondary is set, and sharding.zero is auto"),
              std::string::npos)
        << copy.found.print();
    EXPECT_TRUE(asked_.empty());
}

TEST_F(AutoLayout, HasDegreesOfOneWhereNobodyIsAsked) {
    options_.choose_layout = {};
    options_.ranks = 0;
    const auto loaded = load_with(all_open);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.parallel.ranks, 1);
    EXPECT_EQ(loaded.run.train.micro_batch, 1);
}

TEST_F(AutoLayout, OfTheSequenceNeedsNoSearch) {
    const auto on = load_with({"parallel.sequence=auto", "parallel.tensor=2"});
    ASSERT_TRUE(on.ok()) << on.found.print();
    EXPECT_TRUE(on.run.parallel.sequence);
    EXPECT_NE(on.effective.find("# auto: the tensor ranks can divide the positions"), std::string::npos);
    const auto off = load_with({"parallel.sequence=auto"});
    ASSERT_TRUE(off.ok()) << off.found.print();
    EXPECT_FALSE(off.run.parallel.sequence);
    EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace ziggurat::deck
