#include "plot/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace ziggurat::plot {
namespace {

/// Three steps, of which the second has no finite loss and the third none at all.
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

    const std::vector<std::string> wanted{
        "step,tokens,time,loss,validation_loss,tokens_per_second,waiting_collective_percent,"
        "waiting_nvme_read_percent",
        "0,,,,8.25,,,",
        "1,100,1700000000.000,1.1,,250.5,25,50",
        "2,200,1700000001.000,nan,,250.5,25,50",
        "3,300,1700000002.000,,1.05,250.5,25,50",
    };
    EXPECT_EQ(lines_of(csv({history})), wanted);
}

TEST(Csv, PutsRunsBesideEachOtherByStep) {
    const auto lines = lines_of(csv({three_steps("a", 1), three_steps("b", 3)}));

    ASSERT_EQ(lines.size(), 6U) << "steps 1 to 5";
    EXPECT_EQ(lines[0],
              "step,tokens a,time a,loss a,validation_loss a,tokens_per_second a,waiting_percent a,"
              "tokens b,time b,loss b,validation_loss b,tokens_per_second b,waiting_percent b");
    EXPECT_EQ(lines[1], "1,100,1700000000.000,1.1,,250.5,75,,,,,,");
    EXPECT_EQ(lines[3], "3,300,1700000002.000,,,250.5,75,300,1700000000.000,1.1,,250.5,75");
    EXPECT_EQ(lines[5], "5,,,,,,,500,1700000002.000,,,250.5,75");
}

TEST(Csv, QuotesNamesOfRuns) {
    const auto text = csv({three_steps("a,\"b\"", 1), three_steps("c", 1)});

    EXPECT_NE(text.find(",\"loss a,\"\"b\"\"\","), std::string::npos) << text;
    EXPECT_NE(text.find(",loss c,"), std::string::npos) << text;
}

}  // namespace
}  // namespace ziggurat::plot
