#include "train/report/step_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/support/counted_allocations.hpp"

namespace ziggurat::train {
namespace {

constexpr std::array<bool, num_stalls> any_stall{true, true, true, true, true, true, true, true};

StepLineFacts facts_of(std::int64_t total_steps, const spec::ByTier<std::int64_t>& budget_bytes = {}) {
    return {.total_steps = total_steps, .budget_bytes = budget_bytes, .can_stall = any_stall};
}

/// Returns the facts of the quickstart on two ranks.
StepLineFacts usual_facts() {
    auto facts = facts_of(3000, {5LL << 30, 4LL << 30, 0});
    facts.ranks = 2;
    facts.can_stall = {true, true};
    facts.reports_mfu = true;
    return facts;
}

StepReport report_of(std::int64_t step, double seconds = 0.5) {
    StepReport report{.step = step,
                      .tokens = step * 1024,
                      .loss = 2,
                      .lr = 2.61e-4,
                      .grad_norm = 0.41,
                      .step_s = seconds,
                      .tok_s = 1024 / seconds,
                      .compute_s = seconds};
    report.device_peak_bytes = 61LL << 30;
    return report;
}

StepReport usual_report(std::int64_t step) {
    auto report = report_of(step, 0.019);
    report.loss = 1.1375;
    report.tok_s = 54000;
    report.mfu = 0.469;
    report.stall(Stall::collective) = 0.0009;
    report.stall(data_stall) = 0.0001;
    report.device_peak_bytes = 48LL << 20;
    report.host_peak_bytes = 28LL << 20;
    return report;
}

std::string shown_at(StepLine& lines, int columns) {
    return std::string{lines.line(columns).shown.plain()};
}

TEST(StepLine, SaysWhatTheLastStepsDid) {
    StepLine lines{facts_of(500)};
    StepReport report = report_of(9);
    report.loss = 2.5;
    report.stall(data_stall) = 0.001;
    report.stall(Stall::collective) = 0.045;
    lines.add(report);
    report.step = 10;
    report.loss = 1.5;
    lines.add(report);

    EXPECT_EQ(lines.line(0).logged,
              "step  10/500 | loss  2.0000 | lr 2.61e-04 |  2.05k tok/s | eta 4min05s  |   500 ms | "
              "stall coll   9.0% data   0.2% | norm     0.41 | dev 61G");
}

TEST(StepLine, WiderTerminalsShowMoreFromTheLeft) {
    StepLine lines{usual_facts()};
    const std::string all =
        "step 2999/3000 | loss  1.1375 | lr 2.61e-04 | 54.00k tok/s | eta 19.0 ms  | mfu 46.9% |  19.0 ms | "
        "stall coll   4.7% data   0.5% | norm     0.41 | 27.00k/rank | dev 48M/5.0G host 28M/4.0G";
    for (const auto& [columns, end] :
         std::vector<std::pair<int, std::string>>{{80, "| eta 19.0 ms"},
                                                  {100, "|  19.0 ms"},
                                                  {120, "| stall coll   4.7%"},
                                                  {230, "| dev 48M/5.0G host 28M/4.0G"}}) {
        lines.add(usual_report(2999));
        const auto line = shown_at(lines, columns);
        EXPECT_LE(static_cast<int>(line.size()), columns);
        EXPECT_TRUE(all.starts_with(line)) << line;
        EXPECT_TRUE(line.ends_with(end)) << line;
    }
    lines.add(usual_report(2999));
    auto without_second = all;
    without_second.erase(all.find(" data "), std::string{" data   0.5%"}.size());
    EXPECT_EQ(shown_at(lines, 200), without_second);
    lines.add(usual_report(2999));
    EXPECT_EQ(lines.line(80).logged, all);
}

TEST(StepLine, NarrowTerminalsKeepStepAndLossLongest) {
    StepLine lines{usual_facts()};
    for (const auto& [columns, expected] : std::vector<std::pair<int, std::string>>{
             {70, "step 2999 | loss  1.1375 | lr 2.61e-04 | 54.00k tok/s | eta 19.0 ms"},
             {60, "step 2999 | loss  1.1375 | 54.00k tok/s | eta 19.0 ms"},
             {45, "step 2999 | loss  1.1375 | eta 19.0 ms"},
             {30, "step 2999 | loss  1.1375"},
             {12, "step 2999 |"}}) {
        lines.add(usual_report(2999));
        EXPECT_EQ(shown_at(lines, columns), expected);
    }
}

TEST(StepLine, UtilisationIsOfAllItsStepsAgainstThePeakAsTheLastOneLeftIt) {
    StepLine lines{usual_facts()};
    auto report = usual_report(1);
    lines.add(report);
    report.tok_s *= 3;
    report.mfu = 1;
    lines.add(report);
    EXPECT_NE(shown_at(lines, 100).find("mfu 66.7%"), std::string::npos) << "(1/3 + 3/3) / 2";
}

TEST(StepLine, NeverWrapsWhateverIsInIt) {
    const double infinite = std::numeric_limits<double>::infinity();
    for (const std::int64_t total : {std::int64_t{1}, std::int64_t{500}, std::int64_t{1'000'000'000}}) {
        auto facts = facts_of(total, {1023LL << 30, 1023LL << 30, 1023LL << 30});
        facts.ranks = 1'000'000;
        facts.reports_mfu = facts.reports_time = true;
        for (const double value : {1.0, 1e10, -1e99, 1e300, infinite, std::nan("")}) {
            for (const double speed : {12.0, 5e9, 1e30, infinite}) {
                for (const double seconds : {1e-9, 1.0, 86400.0 * 3, 1e20}) {
                    StepLine lines{facts};
                    StepReport report = report_of(total / 2 + 1, seconds);
                    report.loss = report.grad_norm = report.lr = value;
                    report.tok_s = speed;
                    report.mfu = value;
                    report.stall(Stall::nvme_read) = seconds;
                    report.stall(Stall::nvme_write) = seconds * 0.99;
                    report.host_peak_bytes = report.nvme_bytes = 1023LL << 30;
                    for (int columns = 40; columns <= 250; ++columns) {
                        lines.add(report);
                        const auto heading = lines.heading(columns);
                        EXPECT_TRUE(!heading || static_cast<int>(heading->shown.plain().size()) <= columns);
                        const auto line = std::string{lines.line(columns, value).shown.plain()};
                        ASSERT_LE(static_cast<int>(line.size()), columns) << line;
                        ASSERT_TRUE(line.starts_with("step ") && line.find("| loss ") != std::string::npos)
                            << line;
                        ASSERT_EQ(line.find('\x1b'), std::string::npos);
                    }
                }
            }
        }
    }
}

TEST(StepLine, ColumnsDoNotMoveFromLineToLine) {
    for (int columns = 75; columns <= 250; ++columns) {
        StepLine lines{usual_facts()};
        const std::string heading{lines.heading(columns).value().shown.plain()};
        std::string first;
        for (const std::int64_t step : {1, 49, 2999}) {
            auto report = usual_report(step);
            report.loss = step == 1 ? 10.8123 : 3.25;
            report.tok_s = step == 1 ? 950 : 100'243;
            report.stall(Stall::collective) = step == 1 ? 0 : 0.0111;
            lines.add(report);
            auto line = shown_at(lines, columns);
            first = first.empty() ? line : first;
            const std::size_t memory = first.find("| dev");
            for (std::size_t i = 0; i < std::min(memory, first.size()); ++i) {
                ASSERT_EQ(first[i] == '|', i < line.size() && line[i] == '|') << first << '\n' << line;
                ASSERT_TRUE(line[i] != '|' || (i < heading.size() && heading[i] == '|')) << heading << '\n'
                                                                                         << line;
            }
        }
    }
}

TEST(StepLine, HasTheTimeOfDayBeforeTheMemoryWhereATerminalHasRoom) {
    constexpr double at_09_14_02 = 20'000.0 * 86'400 + 9 * 3600 + 14 * 60 + 2.9;
    auto facts = usual_facts();
    facts.reports_time = true;
    int narrowest = 0;
    for (int columns = 120; columns <= 300; ++columns) {
        StepLine lines{facts};
        const std::string heading{lines.heading(columns).value().shown.plain()};
        lines.add(usual_report(2999));
        const auto both = lines.line(columns, at_09_14_02);
        const std::string line{both.shown.plain()};
        ASSERT_LE(static_cast<int>(std::max(line.size(), heading.size())), columns);
        EXPECT_EQ(both.logged.find("UTC"), std::string::npos) << "files have it in metrics.jsonl";
        const auto time = line.find("| 09:14:02 UTC | dev 48M/5.0G host 28M/4.0G");
        EXPECT_EQ(time, heading.find("| time of day  | memory used/budget")) << heading << '\n' << line;
        if (time != std::string::npos) {
            narrowest = narrowest == 0 ? columns : narrowest;
            EXPECT_NE(line.find("data   0.5%"), std::string::npos) << "what else there is comes first";
        } else {
            EXPECT_EQ(narrowest, 0) << "no column goes when the window grows";
        }
    }
    EXPECT_GT(narrowest, 200);
    EXPECT_LT(narrowest, 260);

    StepLine without{usual_facts()};
    without.add(usual_report(2999));
    EXPECT_EQ(shown_at(without, 300).find("UTC"), std::string::npos) << "nobody has told it";
}

TEST(StepLine, SaysThatItIsDone) {
    StepLine lines{usual_facts()};
    lines.add(usual_report(3000));
    const std::string live{lines.live()};
    const auto line = shown_at(lines, 80);
    EXPECT_EQ(line.find("eta"), std::string::npos) << line;
    EXPECT_NE(line.find("| done"), std::string::npos) << line;
    EXPECT_TRUE(live.ends_with("| done")) << live;
}

TEST(StepLine, NeverForecastsNothing) {
    StepLine lines{usual_facts()};
    auto report = usual_report(2999);
    report.step_s = 1e-8;
    lines.add(report);
    EXPECT_EQ(shown_at(lines, 80).find(" us"), std::string::npos);
}

TEST(StepLine, LeavesTheHostOutWhereControlValuesAloneLieThere) {
    auto facts = facts_of(500, {74LL << 30, 600LL << 30, 0});
    facts.reports_host = false;
    StepLine lines{facts};
    auto report = report_of(9);
    report.host_peak_bytes = 16LL << 10;
    lines.add(report);
    EXPECT_TRUE(shown_at(lines, 0).ends_with("| dev 61/74G"));
}

TEST(StepLine, NamesEveryTierAndItsBudget) {
    StepLine lines{facts_of(500, {74LL << 30, 600LL << 30, 2048LL << 30})};
    StepReport report = report_of(9);
    lines.add(report);
    EXPECT_TRUE(shown_at(lines, 0).ends_with("| dev 61/74G"));
    report.host_peak_bytes = 5LL << 20;
    lines.add(report);
    EXPECT_TRUE(shown_at(lines, 0).ends_with("| dev 61/74G host 5.0M/600G"));
    report.nvme_bytes = 1104LL << 30;
    lines.add(report);
    const auto line = shown_at(lines, 0);
    EXPECT_TRUE(line.ends_with("| dev 61/74G host 5.0M/600G nvme 1.1/2.0T"));
    lines.add(report);
    EXPECT_TRUE(
        shown_at(lines, static_cast<int>(line.size()) - 20).ends_with("| dev 61G host 5.0M nvme 1.1T"));
}

TEST(StepLine, HasTheMeanMarginAndAccuracyOfPairs) {
    auto facts = facts_of(500);
    facts.reports_rewards = true;
    StepLine lines{facts};
    const std::string heading{lines.heading(120).value().shown.plain()};
    EXPECT_NE(heading.find("|  loss / pair | "), std::string::npos) << heading;
    EXPECT_EQ(heading.find("nats"), std::string::npos) << heading;
    auto report = report_of(1);
    report.rewards = RewardMeans{.chosen = 1, .rejected = 0.5, .accuracy = 0.5};
    lines.add(report);
    report.rewards = RewardMeans{.chosen = 2, .rejected = 0.5, .accuracy = 1};
    lines.add(report);
    const auto text = shown_at(lines, 120);
    EXPECT_NE(text.find("| margin       1 acc   75%"), std::string::npos) << text;
    lines.add(report);
    EXPECT_NE(shown_at(lines, 120).find("| margin     1.5 acc  100%"), std::string::npos);
    EXPECT_EQ(shown_at(lines, 80).find("margin"), std::string::npos);
}

TEST(StepLine, StartsAnewAfterEachLine) {
    StepLine lines{facts_of(500)};
    lines.add(report_of(1));
    lines.line(0);
    StepReport report = report_of(2, 1.0);
    report.loss = 1.25;
    lines.add(report);

    const std::string line{lines.line(0).logged};
    EXPECT_NE(line.find("loss  1.2500"), std::string::npos) << line;
    EXPECT_NE(line.find("|  1.02k tok/s |"), std::string::npos) << line;
    EXPECT_NE(line.find("|   1.00 s |"), std::string::npos) << line;
    EXPECT_NE(line.find("| stall  0% "), std::string::npos) << line;
}

TEST(StepLine, LeavesStepsWithoutTargetsOutOfTheMeanLoss) {
    StepLine lines{facts_of(500)};
    auto without = report_of(1);
    without.loss = std::nullopt;
    lines.add(without);
    EXPECT_NE(lines.live().find("| loss n/a |"), std::string::npos) << lines.live();
    EXPECT_NE(lines.line(0).logged.find("| loss     n/a |"), std::string::npos);
    lines.add(without);
    auto with = report_of(3);
    with.loss = 1.5;
    lines.add(with);
    EXPECT_NE(lines.line(0).logged.find("| loss  1.5000 |"), std::string::npos);
}

TEST(StepLine, ColoursWhatIsWorthALook) {
    StepLine lines{usual_facts()};
    const auto coloured = [&lines](double loss, double waited) {
        auto report = usual_report(7);
        report.loss = loss;
        report.stall(Stall::collective) = waited * report.step_s;
        lines.add(report);
        std::string text;
        lines.line(0).shown.append_to(text, true);
        return text;
    };
    for (const double loss : {3.0, 2.9, 2.95, 2.8, 2.85, 2.7}) {
        EXPECT_EQ(coloured(loss, 0.1).find('\x1b'), std::string::npos);
    }
    EXPECT_NE(coloured(9, 0.1).find("\x1b[33mloss  9.0000\x1b[0m"), std::string::npos);
    EXPECT_NE(coloured(std::nan(""), 0.1).find("\x1b[31mloss     nan\x1b[0m"), std::string::npos);
    EXPECT_NE(coloured(2.7, 0.4).find("\x1b[33mstall coll  40.0%"), std::string::npos);
}

TEST(StepLine, ExplainsStallsOnceUnderAHeadingThatHasThem) {
    StepLine lines{usual_facts()};
    EXPECT_TRUE(lines.heading(80).has_value());
    const auto at_80 = lines.explanation(80);
    ASSERT_TRUE(at_80.has_value());
    EXPECT_EQ(at_80->shown.plain(), "");
    EXPECT_EQ(at_80->logged,
              "# stall = % of step time that compute waited for: data = the batch, coll = other ranks "
              "(collectives).");
    EXPECT_FALSE(lines.explanation(80).has_value());
    EXPECT_TRUE(lines.heading(130).has_value());
    const auto at_130 = lines.explanation(60);
    ASSERT_TRUE(at_130.has_value());
    EXPECT_EQ(at_130->logged, "");
    std::istringstream text{std::string{at_130->shown.plain()}};
    int shown_lines = 0;
    for (std::string line; std::getline(text, line); ++shown_lines) {
        EXPECT_TRUE(line.starts_with("# ") && line.size() <= 60) << line;
    }
    EXPECT_EQ(shown_lines, 2);
    EXPECT_FALSE(lines.explanation(130).has_value());
}

TEST(StepLine, HeadsEveryFiftyLines) {
    StepLine lines{facts_of(500)};
    int headings = 0;
    for (int step = 1; step <= 101; ++step) {
        const auto heading = lines.heading(0);
        headings += heading ? 1 : 0;
        EXPECT_TRUE(!heading || heading->logged.starts_with("# step"));
        lines.add(report_of(step));
        lines.line(0);
    }
    EXPECT_EQ(headings, 3);
}

TEST(StepLine, ForgetsTheSlowFirstStepsInItsForecast) {
    StepLine lines{facts_of(100)};
    lines.add(report_of(1, 60));
    lines.add(report_of(2, 30));
    lines.add(report_of(3, 0.5));
    lines.add(report_of(4, 0.5));

    EXPECT_DOUBLE_EQ(lines.seconds_per_step(), 0.5);
}

TEST(StepLine, DoesNotAllocate) {
    auto facts = usual_facts();
    facts.reports_time = true;
    StepLine lines{facts};
    lines.heading(120);
    lines.explanation(120);
    const test::CountedAllocations counted;
    for (int step = 1; step <= 100; ++step) {
        lines.add(report_of(step));
        lines.live();
        lines.heading(120);
        lines.explanation(120);
        lines.line(step < 50 ? 120 : step < 75 ? 300 : 0, 1e9);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

}  // namespace
}  // namespace ziggurat::train
