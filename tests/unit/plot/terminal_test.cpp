#include "plot/terminal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "base/text/text_width.hpp"
#include "plot/canvas.hpp"
#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream{std::regex_replace(text, std::regex{"\x1b\\[[0-9;]*m"}, "")};
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<History> some_runs() {
    auto first =
        test::usual_history(500, "runs/with-a-name-that-is-much-too-long-for-a-narrow-terminal/日本語/a");
    first.marks = {{MarkKind::resume, 250}};
    first.validations = {{100, 5}, {400, 2}};
    return {first, test::usual_history(400, "runs/b")};
}

TEST(TerminalText, IsNeverWiderThanTheTerminal) {
    for (const auto& runs : {some_runs(), std::vector{some_runs().front()}}) {
        for (int columns = 40; columns <= 250; ++columns) {
            for (const bool has_unicode : {true, false}) {
                for (const bool has_colours : {true, false}) {
                    const TerminalStyle style{columns, has_unicode, has_colours};
                    const auto text =
                        terminal_text(make_figure(runs, {.max_points = points_across(style)}), style);
                    ASSERT_EQ(text.find('\x1b') != std::string::npos, has_colours);
                    for (const auto& line : lines_of(text)) {
                        ASSERT_LE(text_width(line), columns) << line;
                    }
                }
            }
        }
    }
}

TEST(TerminalText, ALaneThatIsHardlyWaitedForHidesNoOther) {
    auto run = test::usual_history(200);
    for (auto& step : run.steps) {
        step.stall_s[1] = 0.006F;     // collectives: 30 %
        step.stall_s.back() = 1e-6F;  // the host's optimizer
    }
    const TerminalStyle style{80, false, false};
    const auto text = terminal_text(make_figure({run}, {.max_points = points_across(style)}), style);
    const auto panel = text.substr(text.find("waiting"));
    const auto drawn = panel.substr(panel.find('|'));
    EXPECT_GT(std::ranges::count(drawn, Canvas::mark_of(0)), 40) << panel;
    EXPECT_LT(std::ranges::count(drawn, Canvas::mark_of(1)), 10) << panel;  // those of the axis
}

TEST(TerminalText, IsAsciiWhereThatIsAllThereIs) {
    const TerminalStyle style{80, false, false};
    for (const auto& run : {some_runs().back(), test::preference_history(50), test::blend_history(50)}) {
        const auto text = terminal_text(make_figure({run}, {.max_points = points_across(style)}), style);
        EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 32 && c < 127); }))
            << text;
    }
}

TEST(TerminalText, NamesSourcesRewardsAndChangesOfWeights) {
    const TerminalStyle style{80, false, false};
    const auto draw = [&](const std::vector<History>& runs) {
        return terminal_text(make_figure(runs, {.max_points = points_across(style)}), style);
    };
    const auto blend = draw({test::blend_history(100)});
    for (const auto* words : {"w weight change", "\n  w step 50: books 20 %, code 80 %\n",
                              "loss by source, nats per token", "\n  * books  + code  x mail\n"}) {
        EXPECT_NE(blend.find(words), std::string::npos) << words << "\n" << blend;
    }
    const auto pairs = draw({test::preference_history(100)});
    EXPECT_NE(pairs.find("\n  * chosen  + rejected  x margin\n"), std::string::npos) << pairs;
    EXPECT_EQ(pairs.find("nats"), std::string::npos) << pairs;

    // Each run keeps its mark, also in a panel that it has for itself.
    const auto both = draw({test::usual_history(100, "runs/a"), test::preference_history(100)});
    const auto panel = both.substr(both.find("DPO loss per pair"));
    const auto drawn = panel.substr(panel.find('|'), 6 * 80);
    EXPECT_GT(std::ranges::count(drawn, Canvas::mark_of(1)), 40) << both;
    EXPECT_EQ(std::ranges::count(drawn, Canvas::mark_of(0)), 0) << both;
}

TEST(TerminalText, ListsTheLatestChangesOfWeights) {
    auto run = test::blend_history(100);
    for (int i = 0; i < 5; ++i) {
        run.marks.push_back({MarkKind::weights, 60 + i, "", {{"books", 0.125 * i}, {"code", 1 - 0.125 * i}}});
    }
    const TerminalStyle style{80, true, true};
    const auto text = terminal_text(make_figure({run}, {.max_points = points_across(style)}), style);
    EXPECT_NE(text.find("  2 earlier changes are only in the curves\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" step 64: books 50 %, code 50 %\n"), std::string::npos) << text;
    EXPECT_EQ(text.find(" step 60:"), std::string::npos) << text;
}

TEST(TerminalText, DrawsAFallingLossFromTheUpperLeftToTheLowerRight) {
    auto run = test::usual_history(100);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        run.steps[i].loss = 5 - static_cast<double>(i) / 50;
    }
    const TerminalStyle style{80, false, false};
    const auto lines =
        lines_of(terminal_text(make_figure({run}, {.max_points = points_across(style)}), style));
    const auto title =
        std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("loss, nats"); });
    ASSERT_NE(title, lines.end());
    std::size_t before = 0;
    for (auto row = title + 2; row < title + 12; ++row) {
        const auto at = row->find('*');
        ASSERT_NE(at, std::string::npos) << *row;
        EXPECT_GT(at, before) << *row;
        before = at;
    }
}

TEST(TerminalText, TellsRunsApartWithoutColours) {
    const TerminalStyle style{100, true, false};
    const auto text = terminal_text(make_figure(some_runs(), {.max_points = points_across(style)}), style);
    EXPECT_NE(text.find("* "), std::string::npos);
    EXPECT_NE(text.find("+ runs/b"), std::string::npos);
    EXPECT_EQ(text.find("\xe2\xa0"), std::string::npos);  // no braille: all runs would look the same
}

TEST(Canvas, SetsTheDotsOfBraille) {
    Canvas canvas{2, 1, true, false};
    canvas.dot(0, 0, 0);
    canvas.dot(1, 3, 0);
    canvas.dot(4, 0, 0);  // outside
    canvas.dot(0, 4, 0);
    EXPECT_EQ(canvas.row(0, false), "\xe2\xa2\x81 ");
}

}  // namespace
}  // namespace ziggurat::plot
