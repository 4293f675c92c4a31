#include "plot/comparison.hpp"

#include <gtest/gtest.h>

#include "plot/page.hpp"
#include "tests/unit/plot/figures.hpp"

namespace ziggurat::plot {
namespace {

std::vector<History> two_runs() {
    auto better = test::usual_history(200, "runs/better");
    better.validations = {
        {.step = 100, .loss = 1.75}, {.step = 150, .loss = 1.5}, {.step = 200, .loss = 1.625}};
    better.planned_steps = 1000;
    better.steps.back().tokens = 12'500'000;
    better.end = End{.exit_code = 75, .reason = "SIGUSR1"};
    auto other = test::usual_history(50, "runs/b");
    other.ranks = 0;
    return {better, other};
}

TEST(Comparison, PutsRunsBesideEachOther) {
    EXPECT_EQ(comparison_text(two_runs(), {{"optimizer.lr", {"1.0e-3", "3.0e-3"}}}, 0),
              "                 runs/better       runs/b\n"
              "best validation  1.5000 at 150     -\n"
              "loss at step 50  3.3623            1.5438\n"
              "last loss        1.5438            1.5438\n"
              "steps            200 of 1,000      50\n"
              "tokens           12.50M            0\n"
              "tokens/s         54.00k            54.00k\n"
              "trained          4.00 s            1.00 s\n"
              "ranks            2                 -\n"
              "state            stopped: SIGUSR1  running, or was killed\n"
              "decks differ in\n"
              "  optimizer.lr   1.0e-3            3.0e-3\n");
}

TEST(Comparison, HasTheUnitAndTheRewardsOfPairs) {
    const auto text = comparison_text({test::usual_history(4, "runs/a"), test::preference_history(4)}, {}, 0);

    EXPECT_NE(text.find("\nbest validation       -                       0.5000 per pair at 4\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\nlast loss             1.5438                  0.3466 per pair\n"
                        "last reward margin    -                       2\n"
                        "last reward accuracy  -                       100.0 %\n"),
              std::string::npos)
        << text;
}

TEST(Comparison, FitsIntoTheTerminal) {
    const auto text = comparison_text(two_runs(), {}, 40);

    std::size_t longest = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = text.find('\n', begin);
        longest = std::max(longest, end - begin);
        begin = end + 1;
    }
    EXPECT_LE(longest, 40U) << text;
    const auto second = text.find("\n\n");
    ASSERT_NE(second, std::string::npos) << "one run below the other";
    EXPECT_EQ(text.find("runs/b", text.find("runs/better") + 11), text.find("runs/b", second)) << text;
    EXPECT_EQ(text.find("decks differ"), std::string::npos);
}

TEST(Comparison, CutsLongValuesAtTheirBeginning) {
    const std::string path = "/scratch/" + std::string(100, 'x') + "/text.txt";
    const auto text = comparison_text(two_runs(), {{"data.train[0].path", {path, "\x1b[31mred"}}}, 0);

    EXPECT_NE(text.find("  ..." + path.substr(path.size() - 37)), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << "nothing steers the terminal";
}

TEST(Comparison, IsOnThePageToo) {
    const auto html = page(two_runs(), {{"optimizer.lr", {"1.0e-3", "<3.0e-3>"}}});

    const auto table = html.find("<h2>Keys that differ between the decks</h2>");
    ASSERT_NE(table, std::string::npos);
    EXPECT_NE(html.find("<td>optimizer.lr</td><td class=\"number\">1.0e-3</td><td "
                        "class=\"number\">&lt;3.0e-3&gt;</td>",
                        table),
              std::string::npos)
        << html.substr(table, 400);
    EXPECT_EQ(page(two_runs()).find("Keys that differ"), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::plot
