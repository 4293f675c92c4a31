#include "plot/svg/svg.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

/// Returns why `xml`, without comments and declarations, is not well formed; empty if it is.
std::string problem_of(const std::string& xml) {
    std::vector<std::string> open;
    const std::regex tag{
        R"(^<(/?)([A-Za-z]+)((?:\s+[A-Za-z:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot|#39);[^"<&]*)*")*)\s*(/?)>)"};
    const std::regex text{R"(^(?:[^<>&]|&(?:amp|lt|gt|quot|#39);)+)"};
    for (std::size_t at = 0; at < xml.size();) {
        std::smatch found;
        const std::string rest = xml.substr(at, 40'000);
        if (std::regex_search(rest, found, xml[at] == '<' ? tag : text)) {
            if (xml[at] == '<') {
                if (found[1].length() > 0) {
                    if (open.empty() || open.back() != found[2]) {
                        return "</" + found[2].str() + "> closes nothing";
                    }
                    open.pop_back();
                } else if (found[4].length() == 0) {
                    open.push_back(found[2]);
                }
            }
            at += static_cast<std::size_t>(found[0].length());
        } else {
            return "at " + std::to_string(at) + ": " + xml.substr(at, 60);
        }
    }
    return open.empty() ? "" : "<" + open.back() + "> stays open";
}

std::vector<std::pair<double, double>> points_of(const std::string& xml, const std::string& tag) {
    std::vector<std::pair<double, double>> points;
    const auto element = xml.find("<" + tag + " ");
    const auto begin = xml.find("points=\"", element) + 8;
    std::istringstream numbers{xml.substr(begin, xml.find('"', begin) - begin)};
    char comma = 0;
    for (double x = 0, y = 0; numbers >> x >> comma >> y;) {
        points.emplace_back(x, y);
    }
    return points;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

TEST(Svg, IsWellFormedWhateverRunsAreCalled) {
    auto first = test::usual_history(100, "runs/<a>&\"b\"'\x1b[31m\xff");
    first.name = "<script>alert(1)</script>&";
    first.marks = {
        {MarkKind::resume, 50}, {MarkKind::spike, 60}, {MarkKind::roll_back, 40}, {MarkKind::crash, 99}};
    first.validations = {{60, 2.5}};
    first.steps[70].loss = std::nullopt;
    first.steps[70].is_loss_finite = false;
    auto blend = test::blend_history(90);
    blend.train_sources[0] = "<b>&\"";
    for (const auto& runs : {std::vector{first}, std::vector{first, test::usual_history(80, "runs/b")},
                             std::vector{blend}, std::vector{blend, test::preference_history(30)}}) {
        const auto xml = svg(make_figure(runs, {.max_points = points_across_svg}));
        EXPECT_EQ(problem_of(xml), "");
        EXPECT_EQ(xml.find("<script"), std::string::npos);
        EXPECT_EQ(xml.find('\x1b'), std::string::npos);
        EXPECT_EQ(xml.find("nan"), std::string::npos);
        EXPECT_EQ(xml.find("inf\""), std::string::npos);
    }
    EXPECT_NE(problem_of("<a><b></a>"), "");
    EXPECT_NE(problem_of("<a x=\"<\"/>"), "");
    EXPECT_NE(problem_of("<a>&</a>"), "");
}

TEST(Svg, PointsAreWhereTheyShouldBe) {
    auto history = test::usual_history(3);
    history.steps[0].loss = 4;
    history.steps[1].loss = 3;
    history.steps[2].loss = 2;
    history.validations = {{2, 3}};
    const auto figure = make_figure({history}, {.max_points = points_across_svg});
    const auto xml = svg(figure);
    // The first line is the loss: x from 74 to 938 for steps 1 to 3, y over 260 pixels.
    const auto points = points_of(xml, "polyline");
    ASSERT_EQ(points.size(), 3U);
    EXPECT_DOUBLE_EQ(points[0].first, 74);
    EXPECT_DOUBLE_EQ(points[1].first, 506);
    EXPECT_DOUBLE_EQ(points[2].first, 938);
    const double unit = points[1].second - points[0].second;  // pixels per nat
    EXPECT_NEAR(unit, 260 / (figure.panels[0].y.high - figure.panels[0].y.low), 0.1);
    EXPECT_NEAR(points[2].second - points[1].second, unit, 0.11);
    const auto circle = xml.find("<circle class=\"v c0\"");
    ASSERT_NE(circle, std::string::npos);
    EXPECT_NE(xml.find("cx=\"506.0\" cy=\"" + std::to_string(points[1].second).substr(0, 5), circle),
              std::string::npos);
}

TEST(Svg, HasUnitsALegendAndAllRuns) {
    const std::vector runs{test::usual_history(100, "runs/a"), test::usual_history(200, "runs/b"),
                           test::usual_history(300, "runs/c")};
    const auto xml = svg(make_figure(runs, {.max_points = points_across_svg}));
    for (const auto* words : {"loss, nats per token", "tokens per second", "waiting, % of the time", ">step<",
                              ">runs/a<", ">runs/b<", ">runs/c<", ">3 runs<", "prefers-color-scheme:dark"}) {
        EXPECT_NE(xml.find(words), std::string::npos) << words;
    }
    EXPECT_EQ(count(xml, "<polyline"), 9U);
}

TEST(Svg, IsLightForProgramsThatKnowNoViewer) {
    const auto figure = make_figure({test::usual_history(100)}, {.max_points = points_across_svg});
    const auto xml = svg(figure, ColorScheme::light);
    EXPECT_EQ(problem_of(xml), "");
    EXPECT_EQ(xml.find("@media"), std::string::npos) << "some of them take all rules at once";
    EXPECT_NE(xml.find(".bg{fill:#ffffff}"), std::string::npos);
}

TEST(Svg, OfOneRunStacksWhatWasWaitedFor) {
    auto history = test::usual_history(10);
    for (auto& step : history.steps) {
        step.stall_s[5] = 0.004F;  // of a step of 0.02 s
    }
    const auto figure = make_figure({history}, {.max_points = points_across_svg});
    const auto& panel = figure.panels.back();
    ASSERT_EQ(panel.labels, (std::vector<Label>{{1, "collective"}, {5, "nvme_read"}}));
    EXPECT_NEAR(panel.lines[0].curve[0].mean, 5, 1e-4);
    EXPECT_NEAR(panel.lines[1].curve[0].mean, 25, 1e-4);
    const auto xml = svg(figure);
    EXPECT_NE(xml.find(">nvme read<"), std::string::npos);
    EXPECT_EQ(count(xml, "<polygon"), 2U);
}

TEST(Svg, MarksAPeakThatIsAboveTheAxis) {
    auto history = test::usual_history(200);
    history.steps[150].loss = 5000;
    const auto figure = make_figure({history}, {.max_points = points_across_svg});
    const auto& panel = figure.panels.front();
    EXPECT_LT(panel.y.high, 10);
    EXPECT_FALSE(panel.y.is_log);
    ASSERT_EQ(panel.peaks.size(), 1U);
    EXPECT_EQ(panel.peaks.front().x, 151);
    const auto xml = svg(figure);
    EXPECT_NE(xml.find("loss, nats per token, peaks up to 5.00k cut off"), std::string::npos);
    EXPECT_NE(xml.find("<title>step 151: peak of 5000</title>"), std::string::npos);
}

TEST(Svg, OfARunThatNeverWaitsSaysSo) {
    auto history = test::usual_history(10);
    for (auto& step : history.steps) {
        step.stall_s = {};
    }
    const auto xml = svg(make_figure({history}, {.max_points = points_across_svg}));
    EXPECT_NE(xml.find(">no waits</text>"), std::string::npos);
}

TEST(Svg, OfASingleStepHasItsPointInTheMiddle) {
    auto history = test::usual_history(1);
    const auto xml = svg(make_figure({history}, {.max_points = points_across_svg}));
    EXPECT_NE(xml.find("<circle class=\"c0\" cx=\"506.0\""), std::string::npos);
    const auto column = points_of(xml, "polygon");
    ASSERT_EQ(column.size(), 4U);
    EXPECT_DOUBLE_EQ(column[0].first, 500);
    EXPECT_DOUBLE_EQ(column[1].first, 512);
}

TEST(Svg, SmoothedStepsStayBehindTheirMean) {
    auto history = test::usual_history(100);
    const auto figure = make_figure({history}, {.max_points = points_across_svg, .smooth = 10});
    EXPECT_TRUE(figure.has_raw);
    EXPECT_NE(svg(figure).find("faint line: single steps"), std::string::npos);
    EXPECT_FALSE(make_figure({history}, {.max_points = points_across_svg}).has_raw);
}

TEST(Svg, OfAPartEndsWhereThatWasAsked) {
    const auto history = test::usual_history(100);
    const auto axis_to = [&](double last) {
        return make_figure({history}, {.max_points = 100, .x = {.from = 10, .to = last}}).x.high;
    };
    EXPECT_DOUBLE_EQ(axis_to(50.5), 50.5);
    EXPECT_DOUBLE_EQ(axis_to(500), 100) << "there are no more steps";
}

TEST(Svg, AMillionStepsMakeASmallFile) {
    const std::vector runs{test::usual_history(1'000'000, "runs/a"),
                           test::usual_history(1'000'000, "runs/b")};
    const auto xml = svg(make_figure(runs, {.max_points = points_across_svg}));
    EXPECT_LT(xml.size(), 200'000U);
    EXPECT_EQ(points_of(xml, "polyline").size(), static_cast<std::size_t>(points_across_svg));
}

}  // namespace
}  // namespace ziggurat::plot
