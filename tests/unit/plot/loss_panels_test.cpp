#include <gtest/gtest.h>

#include <algorithm>

#include "plot/figure.hpp"
#include "plot/source_shares.hpp"
#include "plot/svg/svg.hpp"
#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

std::vector<std::string> titles_of(const Figure& figure) {
    std::vector<std::string> titles;
    for (const auto& panel : figure.panels) {
        titles.push_back(panel.title);
    }
    return titles;
}

Figure losses_of(const std::vector<History>& histories) {
    return make_figure(histories, {.max_points = points_across_svg, .contents = PanelSet::losses});
}

TEST(LossPanels, OfAPreferenceRunHaveItsRewards) {
    const auto figure = losses_of({test::preference_history(100)});

    EXPECT_EQ(titles_of(figure),
              (std::vector<std::string>{"DPO loss per pair", "rewards: beta x log-ratio to the reference",
                                        "reward accuracy, % of pairs"}));
    const auto& rewards = figure.panels[1];
    EXPECT_EQ(rewards.labels, (std::vector<Label>{{0, "chosen"}, {1, "rejected"}, {2, "margin"}}));
    ASSERT_EQ(rewards.lines.size(), 3U);
    EXPECT_DOUBLE_EQ(rewards.lines[0].curve.back().mean, 0.5);
    EXPECT_DOUBLE_EQ(rewards.lines[1].curve.back().mean, -1.5);
    EXPECT_DOUBLE_EQ(rewards.lines[2].curve.back().mean, 2);
    ASSERT_EQ(rewards.dots.size(), 3U) << "the rewards of the validation";
    EXPECT_EQ(rewards.dots[2].colour, 2U);
    EXPECT_DOUBLE_EQ(rewards.dots[2].value, 1);
    EXPECT_DOUBLE_EQ(figure.panels[2].lines[0].curve.back().mean, 100);
    EXPECT_DOUBLE_EQ(figure.panels[2].dots[0].value, 75);
}

TEST(LossPanels, HaveLinearAxesOfRewards) {
    auto run = test::preference_history(100);
    for (auto& step : run.steps) {
        step.rewards =
            Rewards{.chosen = 0.01 * static_cast<double>(step.step), .rejected = 0.001, .accuracy = 1};
    }
    run.validations.clear();
    for (const auto& runs : {std::vector{run}, std::vector{run, run}}) {
        const auto figure = make_figure(
            runs, {.max_points = points_across_svg, .contents = PanelSet::losses, .is_log = true});
        EXPECT_TRUE(figure.panels[0].y.is_log);
        for (std::size_t i = 1; i < figure.panels.size(); ++i) {
            EXPECT_FALSE(figure.panels[i].y.is_log) << figure.panels[i].title;
        }
    }
}

TEST(LossPanels, NeverCallALossPerPairNatsPerToken) {
    for (const auto objective : {LossKind::dpo, LossKind::ipo, LossKind::pairs}) {
        auto run = test::preference_history(20, "runs/p", objective);
        run.train_sources = {"a", "b"};
        for (auto& step : run.steps) {
            step.loss_by_source = {1, 2};
        }
        for (const auto& runs : {std::vector{run}, std::vector{run, run}}) {
            const auto xml = svg(losses_of(runs));
            EXPECT_EQ(xml.find("nats"), std::string::npos);
            EXPECT_NE(xml.find("per pair"), std::string::npos);
        }
    }
}

TEST(LossPanels, KeepLossesOfDifferentUnitsApart) {
    const auto figure = losses_of({test::preference_history(50), test::usual_history(100, "runs/a"),
                                   test::preference_history(40, "runs/ipo", LossKind::ipo),
                                   test::preference_history(60, "runs/d")});

    const auto titles = titles_of(figure);
    ASSERT_EQ(titles.size(), 7U);
    EXPECT_EQ(titles[0], "DPO loss per pair");
    EXPECT_EQ(titles[1], "loss, nats per token");
    EXPECT_EQ(titles[2], "IPO loss per pair");
    const auto runs_of = [&](std::size_t panel) {
        std::vector<std::size_t> runs;
        for (const auto& line : figure.panels[panel].lines) {
            runs.push_back(line.colour);
        }
        for (const auto& dot : figure.panels[panel].dots) {
            EXPECT_TRUE(std::ranges::find(runs, dot.colour) != runs.end()) << "a validation of another run";
        }
        return runs;
    };
    EXPECT_EQ(runs_of(0), (std::vector<std::size_t>{0, 3}));
    EXPECT_EQ(runs_of(1), (std::vector<std::size_t>{1}));
    EXPECT_EQ(runs_of(2), (std::vector<std::size_t>{2}));
    EXPECT_LT(figure.panels[0].y.high, 1) << "the axis of the pairs";
    EXPECT_EQ(titles[3], "reward margin");
    EXPECT_EQ(runs_of(3), (std::vector<std::size_t>{0, 2, 3}));
}

TEST(LossPanels, OfABlendHaveALineForEachSource) {
    const auto figure = losses_of({test::blend_history(100)});

    EXPECT_EQ(titles_of(figure),
              (std::vector<std::string>{"loss, nats per token", "loss by source, nats per token"}));
    const auto& panel = figure.panels[1];
    EXPECT_EQ(panel.labels, (std::vector<Label>{{0, "books"}, {1, "code"}, {2, "mail"}}));
    ASSERT_EQ(panel.lines.size(), 2U) << "mail is only validated";
    EXPECT_EQ(panel.lines[0].curve.size(), 100U);
    EXPECT_EQ(panel.lines[1].curve.size(), 99U) << "one step has no loss of code";
    ASSERT_EQ(panel.dots.size(), 2U);
    EXPECT_EQ(panel.dots[0].colour, 1U) << "code";
    EXPECT_EQ(panel.dots[1].colour, 2U) << "mail";
    const auto xml = svg(figure);
    for (const auto* words : {">books<", ">code<", ">mail<", ">weight change<", ">books 20 %, code 80 %<",
                              "<title>step 50: weights: books 70 to 20 %, code 30 to 80 %</title>"}) {
        EXPECT_NE(xml.find(words), std::string::npos) << words;
    }
}

TEST(LossPanels, OfSeveralRunsHaveAPanelForEachSource) {
    auto other = test::blend_history(50, "runs/other");
    other.train_sources = {"code", "books"};
    const auto figure = losses_of({test::blend_history(100), other});

    EXPECT_EQ(titles_of(figure),
              (std::vector<std::string>{"loss, nats per token", "loss of books, nats per token",
                                        "loss of code, nats per token", "loss of mail, nats per token"}));
    ASSERT_EQ(figure.panels[1].lines.size(), 2U);
    const double last = *other.steps.back().loss;
    EXPECT_DOUBLE_EQ(figure.panels[1].lines[1].curve.back().mean, last - 0.5)
        << "by its name, not its position";
    EXPECT_TRUE(figure.panels[3].lines.empty());
    EXPECT_EQ(figure.panels[3].dots.size(), 2U);
}

TEST(LossPanels, OfManySourcesNameTheirNumber) {
    auto run = test::usual_history(10);
    for (int i = 0; i < 20; ++i) {
        run.train_sources.push_back("s" + std::to_string(i));
    }
    for (auto& step : run.steps) {
        step.loss_by_source = std::vector<double>(20, 1.0);
    }
    const auto one = losses_of({run});
    EXPECT_EQ(one.panels[1].title, "loss by source, nats per token (the first 16 of 20 sources)");
    EXPECT_EQ(one.panels[1].lines.size(), 16U);
    const auto two = losses_of({run, run});
    ASSERT_EQ(two.panels.size(), 7U);
    EXPECT_EQ(two.panels[6].title, "loss of s5, nats per token (source 6 of 20)");
}

TEST(MarkLabels, AreShortWhereLongOnesDoNotFit) {
    auto run = test::blend_history(100);
    const auto label_of = [&](std::int64_t step, double books) {
        run.marks.push_back({MarkKind::weights, step, "", {{"books", books}, {"code", 1 - books}}});
    };
    run.marks.clear();
    label_of(20, 0.5);
    label_of(30, 0.25);
    auto xml = svg(losses_of({run}));
    EXPECT_NE(xml.find(">50:50 %<"), std::string::npos);
    EXPECT_NE(xml.find(">25:75 %<"), std::string::npos);
    EXPECT_EQ(xml.find(">books 50 %, code 50 %<"), std::string::npos);
    label_of(21, 0.75);  // there is no room for a third one
    xml = svg(losses_of({run}));
    EXPECT_EQ(xml.find(">75:25 %<"), std::string::npos);
    EXPECT_NE(xml.find(">25:75 %<"), std::string::npos);
}

TEST(SourceShares, AreLabelsAndTexts) {
    using Shares = std::vector<SourceShare>;
    const Shares before{{"a", 0.7}, {"b", 0.3}, {"gone", 0}}, after{{"a", 0.7}, {"b", 0.2}, {"c", 0.1}};
    EXPECT_EQ(change_text(before, after), "weights: b 30 to 20 %, c 0 to 10 %");
    EXPECT_EQ(change_text(after, {{"a", 1}}), "weights: a 70 to 100 %, b 20 to 0 %, c 10 to 0 %");
    EXPECT_EQ(change_text({}, {{"a", 1.0 / 3}, {"b", 2.0 / 3}}),
              "weights: one source, then a 33.3 %, b 66.7 %");
    EXPECT_EQ(share_labels({{"a", 0.25}, {"b", 0}, {"c", 0.75}}),
              (std::vector<std::string>{"a 25 %, c 75 %", "25:0:75 %"}));
    EXPECT_TRUE(share_labels(Shares(30, {"a source with a long name", 1.0 / 30})).empty());
}

}  // namespace
}  // namespace ziggurat::plot
