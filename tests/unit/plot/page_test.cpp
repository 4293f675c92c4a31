#include "plot/page.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "plot/svg/svg.hpp"
#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
        ++found;
    }
    return found;
}

History saved_history() {
    auto history = test::usual_history(100);
    for (auto& step : history.steps) {
        step.tier_bytes = {3.0 * (1 << 20), 0, 5.0 * (1LL << 30)};
    }
    history.planned_steps = 200;
    history.saves = {{.step = 50, .is_ok = true, .bytes = 1 << 20, .seconds = 2, .stood_still_s = 1},
                     {.step = 60, .reason = "no space <left>"}};
    history.events = {{.time = 1.7e9, .step = 50, .text = "was sent SIGUSR1"}};
    history.end = End{.time = 1.7e9, .exit_code = 3, .reason = "out of memory"};
    return history;
}

TEST(Page, HasCurvesSavesAndEventsOfARun) {
    const auto html = page({saved_history()});

    for (const auto* words :
         {"<title>usual, 1.87M parameters, 2 ranks</title>", "loss, nats per token",
          "device memory of the fullest rank, MiB", "nvme memory of the fullest rank, GiB", ">100 of 200<",
          ">complete<", "failed: no space &lt;left&gt;", "was sent SIGUSR1", "failed with 3: out of memory",
          "collective\u00a05\u00a0%", "device\u00a03.00\u00a0MiB, nvme\u00a05.00\u00a0GiB"}) {
        EXPECT_NE(html.find(words), std::string::npos) << words;
    }
    EXPECT_EQ(html.find("host memory"), std::string::npos) << "nothing lay there";
    EXPECT_EQ(count(html, "<polyline"), 4U) << "loss, speed and two tiers";
}

TEST(Page, HasTheLatestNormsOfEachUnit) {
    auto history = test::usual_history(100);
    history.units = {"embedding", "layer.00"};
    history.unit_norms = {{.step = 10, .norms = {{{1, 1}, {1, 1}, {1, 1}}}},
                          {.step = 20, .norms = {{{1.5, std::nan("")}, {8, 4}, {0.25, 0}}}}};
    const auto html = page({history});
    EXPECT_NE(html.find("<h2>Norms by unit after step 20</h2>"), std::string::npos);
    EXPECT_NE(html.find("<td>embedding</td><td class=\"number\">1.5</td><td class=\"number\">8</td><td "
                        "class=\"number\">0.25</td><td class=\"number\">0.03125</td>"),
              std::string::npos);
    EXPECT_NE(html.find("<td>layer.00</td><td class=\"number\">-</td>"), std::string::npos);
}

TEST(Page, LaysRunsOverEachOther) {
    const auto html = page({saved_history(), test::usual_history(30, "runs/b")});

    EXPECT_NE(html.find("<h2>Checkpoints of runs/a</h2>"), std::string::npos);
    EXPECT_EQ(html.find("<h2>Checkpoints of runs/b</h2>"), std::string::npos) << "it has saved nothing";
    EXPECT_EQ(count(html, "<polyline"), 2U * 5) << "loss, speed, waits and two tiers of each";
}

TEST(Page, HasRewardsAndSourcesWithTheirUnits) {
    const auto pairs = page({test::preference_history(100)});
    for (const auto* words :
         {"DPO loss per pair", ">0.3466 per pair<", ">0.5000 per pair at 100<", ">reward margin<", ">2<",
          ">reward accuracy<", ">100.0 %<", ">chosen<", ">rejected<"}) {
        EXPECT_NE(pairs.find(words), std::string::npos) << words;
    }
    EXPECT_EQ(pairs.find("nats"), std::string::npos);

    const auto blend = page({test::blend_history(100)});
    for (const auto* words :
         {"<h2>Losses by source, nats per token</h2>", "loss by source, nats per token</text>",
          ">1 weight change<", ">books 20 %, code 80 %<"}) {
        EXPECT_NE(blend.find(words), std::string::npos) << words;
    }
    EXPECT_EQ(blend.find("reward"), std::string::npos);
}

TEST(Page, LoadsNothingAndRunsNothing) {
    auto history = saved_history();
    history.name = "<script>alert(1)</script>";
    const auto html = page({history});

    EXPECT_EQ(html.find("<script"), std::string::npos);
    EXPECT_EQ(count(html, "http"), count(html, "xmlns=\"http")) << "the name of a format is no address";
    EXPECT_EQ(count(html, "src="), 0U);
    EXPECT_EQ(count(html, "url("), count(html, "url(#")) << "of the page itself";
}

TEST(Page, OfALongRunHasTheLatestSaves) {
    auto history = saved_history();
    history.saves.clear();
    for (std::int64_t step = 1; step <= 1000; ++step) {
        history.saves.push_back({.step = step, .is_ok = true});
    }
    const auto html = page({history});

    EXPECT_NE(html.find("The latest 200 of 1000 saves."), std::string::npos);
    EXPECT_EQ(count(html, ">complete<"), 200U);
    EXPECT_NE(html.find("<td class=\"number\">1,000</td>"), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::plot
