#include "plot/step_page.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ziggurat::plot {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

StepPage some_page() {
    return {
        .title = "a <run>",
        .facts = {{"step", "2 s & more"}},
        .timelines = {{"plan of rank 0",
                       {{"compute", {{0, 1, "layers.0 \"qkv\""}, {1, 2, "wait", true}}}, {"nvme_read", {}}}}},
        .memory = {{"device, rank 0", {0, 1}, {1024, 2048}, 2, 4096}},
        .seconds = 2};
}

TEST(StepPage, HasABarForEachWorkAndNothingFromElsewhere) {
    const auto html = step_page_html(some_page());

    EXPECT_EQ(count(html, "<rect class=\"work\""), 1U);
    EXPECT_EQ(count(html, "<rect class=\"wait\""), 1U);
    EXPECT_NE(html.find("layers.0 &quot;qkv&quot;: 0 us to 1.00 s"), std::string::npos) << html;
    EXPECT_NE(html.find("a &lt;run&gt;"), std::string::npos);
    EXPECT_NE(html.find("2 s &amp; more"), std::string::npos);
    EXPECT_NE(html.find(">nvme_read</text>"), std::string::npos) << "a lane without work";
    for (const char* outside : {"<script", "http:", "https:", "src=", "@import", "url("}) {
        EXPECT_EQ(html.find(outside), std::string::npos) << outside;
    }
}

TEST(StepPage, DrawsManyShortOpsAsOne) {
    auto page = some_page();
    auto& bars = page.timelines.front().lanes.front().bars;
    bars.clear();
    for (int i = 0; i < 100'000; ++i) {
        bars.push_back({2e-5 * i, 2e-5 * (i + 1), "op"});
    }

    const auto html = step_page_html(page);

    EXPECT_LE(count(html, "<rect"), 1000U);
    EXPECT_NE(html.find(" more: "), std::string::npos);
}

TEST(StepPage, HasThePlannedMemoryNextToTheMeasuredPeak) {
    auto page = some_page();
    const auto html = step_page_html(page);
    EXPECT_NE(html.find("planned 2.00 KiB"), std::string::npos) << html;
    EXPECT_NE(html.find("measured 4.00 KiB"), std::string::npos) << html;
    EXPECT_EQ(count(html, "class=\"peak\""), 1U);

    page.memory.front().measured_peak = 0;
    EXPECT_EQ(count(step_page_html(page), "class=\"peak\""), 0U);
}

}  // namespace
}  // namespace ziggurat::plot
