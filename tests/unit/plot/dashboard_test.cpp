#include "plot/dashboard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/text/text_width.hpp"
#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in{text};
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

History running_history() {
    auto history = test::usual_history(100);
    history.planned_steps = 400;
    history.budget_bytes = {4.0 * (1 << 20), 0, 0};
    for (auto& step : history.steps) {
        step.tier_bytes[0] = 1 << 20;
        step.tokens = 100 * step.step;
    }
    history.last_time = 1000;
    for (int i = 1; i <= 5; ++i) {
        history.events.push_back({.time = 1.7e9, .step = i, .text = "event " + std::to_string(i)});
    }
    return history;
}

TEST(Dashboard, TellsHowFarARunHasCome) {
    const auto text = dashboard(running_history(), {.now_s = 1007});

    for (const auto* words :
         {"usual", "2 ranks", "7.00 s since its last event", "█████░░░░░░░░░░░░░░░ 100 of 400, 6.00 s left",
          "10.00k tokens", "54.00k tok/s", "5 % of the time", "5.0 % collective",
          "█████░░░░░░░░░░░░░░░ 1.00 MiB of 4.00 MiB", "event 5"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
    }
    EXPECT_EQ(text.find("event 2"), std::string::npos) << "the latest three";
}

TEST(Dashboard, FitsAnyTerminal) {
    auto history = running_history();
    history.name = std::string(300, 'n');
    history.events.back().text = std::string(300, 'e');
    for (const int columns : {40, 80, 200}) {
        for (const int rows : {12, 24, 60}) {
            for (const bool has_unicode : {false, true}) {
                const auto lines = lines_of(dashboard(
                    history, {.terminal = {.columns = columns, .has_unicode = has_unicode}, .rows = rows}));
                EXPECT_LE(std::ssize(lines), rows);
                for (const auto& line : lines) {
                    EXPECT_LE(text_width(line), columns) << line;
                }
            }
        }
    }
    const auto tall = dashboard(history, {.rows = 60});
    EXPECT_NE(tall.find("loss, nats per token"), std::string::npos);
    EXPECT_EQ(dashboard(history, {.rows = 24}).find("loss, nats per token"), std::string::npos) << "no room";
}

TEST(Dashboard, HasRewardsAndSourcesWithTheirCurves) {
    const auto pairs = test::preference_history(100);
    const auto text = dashboard(pairs, {.rows = 80});
    for (const auto* words : {"\nloss    0.3466 per pair, lr ",
                              "\nrewards margin 2, accuracy 100.0 %, chosen 0.5, rejected -1.5\n"
                              "        validation 0.5000 at step 100, margin 1, accuracy 75.0 %\n",
                              "DPO loss per pair", "rewards: beta", "reward accuracy, % of pairs"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
    }
    EXPECT_EQ(text.find("nats"), std::string::npos) << text;
    const auto lower = dashboard(pairs, {.rows = 32});
    EXPECT_NE(lower.find("DPO loss per pair"), std::string::npos) << lower;
    EXPECT_EQ(lower.find("reward accuracy"), std::string::npos) << "no room for all";

    const auto blend = dashboard(test::blend_history(100), {.rows = 60});
    for (const auto* words : {"sources books 2.0438, code 1.0438", "1 weight change",
                              "loss by source, nats per token", "step 50: books 20 %, code 80 %"}) {
        EXPECT_NE(blend.find(words), std::string::npos) << words << "\n" << blend;
    }
}

TEST(Dashboard, TellsHowARunHasEnded) {
    auto history = running_history();
    history.end = End{.time = 1001, .exit_code = 75, .reason = "SIGUSR1"};
    const auto text = dashboard(history, {.now_s = 5000});

    EXPECT_NE(text.find("stopped: SIGUSR1"), std::string::npos) << text;
    EXPECT_EQ(text.find(" left"), std::string::npos) << "it does not go on";
    EXPECT_EQ(text.find("since its last event"), std::string::npos);
}

TEST(Dashboard, WaitsForTheFirstStep) {
    History history;
    history.name = "new";
    history.events.emplace_back().text = "start on two ranks";

    EXPECT_EQ(dashboard(history, {}), "new\nno step is done yet\nstart on two ranks\n");
}

}  // namespace
}  // namespace ziggurat::plot
