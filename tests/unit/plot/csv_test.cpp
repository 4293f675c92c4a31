#include "plot/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

/// Returns three steps: the second has no finite loss, and the third has no loss.
History three_steps(const std::string& folder, std::int64_t first) {
    History history;
    history.path = folder + "/metrics.jsonl";
    for (std::int64_t i = 0; i < 3; ++i) {
        Step step{.step = first + i,
                  .time = 1.7e9 + static_cast<double>(i),
                  .loss = {},
                  .tok_s = 250.5,
                  .step_s = 0.5,
                  .tokens = 100 * (first + i)};
        step.stall_s[1] = 0.125F;
        step.stall_s[5] = 0.25F;
        history.steps.push_back(step);
    }
    history.steps[0].loss = 1.1;
    history.steps[1].is_loss_finite = false;
    return history;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

TEST(Csv, HasARowForEachStepAndAColumnForEachCurve) {
    auto history = three_steps("runs/a", 1);
    history.validations = {{.step = 0, .loss = 8.25}, {.step = 3, .loss = 1.05}};

    history.steps[0].lr = 0.001;
    history.steps[0].grad_norm = 2.5;
    history.steps[0].mfu = 0.25;
    history.steps[0].elapsed_s = 1.5;
    history.marks = {{MarkKind::spike, 3},
                     {MarkKind::crash, 4},
                     {MarkKind::resume, 2},
                     {MarkKind::roll_back, 2},
                     {MarkKind::roll_back, 2}};

    const std::vector<std::string> wanted{
        "step,tokens,time,seconds_in_training,loss,validation_loss,learning_rate,gradient_norm,mfu_percent,"
        "tokens_per_second,waiting_collective_percent,waiting_nvme_read_percent,resumes,roll_backs,spikes,"
        "crashes",
        "0,,,,,8.25,,,,,,,,,,",
        "1,100,1700000000.000,1.500,1.1,,0.001,2.5,25,250.5,25,50,0,0,0,0",
        "2,200,1700000001.000,0.000,nan,,0,0,,250.5,25,50,1,2,0,0",
        "3,300,1700000002.000,0.000,,1.05,0,0,,250.5,25,50,0,0,1,0",
        "4,,,,,,,,,,,,0,0,0,1",
    };
    EXPECT_EQ(lines_of(csv({history})), wanted);
}

TEST(Csv, HasTheNormsOfEachUnit) {
    auto history = three_steps("runs/a", 1);
    history.units = {"embedding", "layer.00"};
    history.unit_norms = {{.step = 2, .norms = {{{1.5, std::nan("")}, {9.0, 8.0}, {0.25, 0}}}}};
    const auto lines = lines_of(csv({history}));
    const std::string headings =
        "gradient_norm embedding,gradient_norm layer.00,weights_norm embedding,weights_norm "
        "layer.00,update_norm "
        "embedding,update_norm layer.00";
    EXPECT_NE(lines.at(0).find(headings + ",resumes"), std::string::npos) << lines[0];
    EXPECT_TRUE(lines.at(1).ends_with(",,,,,,,0,0,0,0")) << lines[1];
    EXPECT_TRUE(lines.at(2).ends_with(",1.5,,9,8,0.25,0,0,0,0,0")) << lines[2];
}

TEST(Csv, PutsRunsBesideEachOtherByStep) {
    const auto lines = lines_of(csv({three_steps("a", 1), three_steps("b", 3)}));

    ASSERT_EQ(lines.size(), 6U) << "steps 1 to 5";
    const auto headings = [](const std::string& run) {
        std::string text;
        for (const auto* name : {"tokens", "time", "seconds_in_training", "loss", "validation_loss",
                                 "learning_rate", "gradient_norm", "mfu_percent", "tokens_per_second",
                                 "waiting_percent", "resumes", "roll_backs", "spikes", "crashes"}) {
            text += "," + std::string{name} + " " + run;
        }
        return text;
    };
    EXPECT_EQ(lines[0], "step" + headings("a") + headings("b"));
    const std::string marks = ",0,0,0,0", none = ",,,,,,,,,,,,,,";
    EXPECT_EQ(lines[1], "1,100,1700000000.000,0.000,1.1,,0,0,,250.5,75" + marks + none);
    EXPECT_EQ(lines[3], "3,300,1700000002.000,0.000,,,0,0,,250.5,75" + marks +
                            ",300,1700000000.000,0.000,1.1,,0,0,,250.5,75" + marks);
    EXPECT_EQ(lines[5], "5" + none + ",500,1700000002.000,0.000,,,0,0,,250.5,75" + marks);
}

TEST(Csv, HasRewardsAndChangesOfWeights) {
    const auto pairs = lines_of(csv({test::preference_history(4)}));
    EXPECT_NE(pairs[0].find(
                  ",reward_chosen,reward_rejected,reward_margin,reward_accuracy_percent,validation_reward_"
                  "chosen,validation_reward_rejected,validation_reward_margin,validation_reward_accuracy_"
                  "percent,resumes,roll_backs,spikes,crashes"),
              std::string::npos)
        << pairs[0];
    EXPECT_TRUE(pairs[2].ends_with(",0.25,-0.75,1,75,,,,,0,0,0,0")) << pairs[2];
    EXPECT_TRUE(pairs[4].ends_with(",0.5,-1.5,2,100,0.25,-0.75,1,75,0,0,0,0")) << pairs[4];

    const auto blend = lines_of(csv({test::blend_history(4)}));
    EXPECT_TRUE(blend[0].ends_with(
        ",loss books,loss code,validation_loss code,validation_loss mail,resumes,roll_backs,"
        "spikes,crashes,weight_changes"))
        << blend[0];
    EXPECT_TRUE(blend[2].ends_with(",,,,0,0,0,0,1")) << "code has no loss in this step: " << blend[2];
    EXPECT_TRUE(blend[4].ends_with(",1.25,2.25,0,0,0,0,0")) << blend[4];

    // The two runs have columns of their own.
    const auto both = lines_of(csv({test::preference_history(4, "p"), test::blend_history(4, "b")}));
    for (const auto& line : both) {
        EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(both[0], ',')) << line;
    }
    EXPECT_EQ(both[0].find("reward_margin b"), std::string::npos) << both[0];
    EXPECT_EQ(both[0].find("weight_changes p"), std::string::npos) << both[0];
}

TEST(Csv, QuotesNamesOfRuns) {
    const auto text = csv({three_steps("a,\"b\"", 1), three_steps("c", 1)});

    EXPECT_NE(text.find(",\"loss a,\"\"b\"\"\","), std::string::npos) << text;
    EXPECT_NE(text.find(",loss c,"), std::string::npos) << text;
}

}  // namespace
}  // namespace ziggurat::plot
