#include "deck/messages/diagnostics.hpp"

#include <gtest/gtest.h>

#include "deck/messages/nearest.hpp"

namespace ziggurat::deck {
namespace {

TEST(Diagnostics, PrintEachProblemOverItsLine) {
    Diagnostics found;
    found.remember("a.yaml", "one: 1\n  tensor: 3   # ranks\n");
    found.error({"a.yaml", 2, 11}, "parallel.tensor = 3 does not divide model.heads = 16", "heads are whole",
                "Use 1, 2, 4, 8 or 16.");

    EXPECT_EQ(found.print(),
              "ziggurat: error: a.yaml:2:11: parallel.tensor = 3 does not divide model.heads = 16 (heads are "
              "whole). "
              "Use 1, 2, 4, 8 or 16.\n"
              "   2 |   tensor: 3   # ranks\n"
              "     |           ^\n"
              "1 error, 0 warnings, 0 notes. Nothing was started.\n");
}

TEST(Diagnostics, ComeInTheOrderOfTheFile) {
    Diagnostics found;
    found.remember("a.yaml", "");
    found.remember(command_line_name, "");
    found.error({command_line_name, 1, 1}, "third", "", "");
    found.note({"a.yaml", 9, 1}, "second");
    found.warning({"a.yaml", 2, 5}, "first", "", "");

    const auto all = found.sorted();

    EXPECT_EQ(all[0].problem, "first");
    EXPECT_EQ(all[1].problem, "second");
    EXPECT_EQ(all[2].problem, "third");
    EXPECT_EQ(found.closing_line(), "1 error, 1 warning, 1 note. Nothing was started.");
}

TEST(Diagnostics, ShowErrorsFirstWhenThereAreTooMany) {
    Diagnostics found;
    for (int i = 0; i < 5000; ++i) {
        found.note({"a.yaml", i, 1}, "a note");
    }
    found.error({"a.yaml", 9000, 1}, "hidden too deep to be kept", "", "");

    EXPECT_EQ(found.errors(), 1u);
    EXPECT_EQ(found.sorted().size(), Diagnostics::most_kept);
    EXPECT_NE(found.print(3).find("and 4998 more"), std::string::npos);
}

TEST(Diagnostics, SayWhoMustAct) {
    Diagnostics found;
    found.warning({"a.yaml", 1, 1}, "slow", "", "");
    EXPECT_EQ(found.exit_code(), 0);
    found.lack({"a.yaml", 2, 1}, "no such folder", "", "");
    EXPECT_EQ(found.exit_code(), 3);
    found.error({"a.yaml", 3, 1}, "no such key", "", "");
    EXPECT_EQ(found.exit_code(), 2);
}

TEST(Diagnostics, PointBelowTheCharacterWhateverItsBytes) {
    Diagnostics found;
    found.remember("a.yaml", "n: {a: \"\u00e9\u00e9\", b: 1}");
    found.error({"a.yaml", 1, 16}, "b", "", "");

    EXPECT_NE(found.print().find("\n     |              ^\n"), std::string::npos) << found.print();
}

TEST(Diagnostics, NeverSteerTheTerminal) {
    Diagnostics found;
    found.remember("a.yaml", "a: \x1b[31mred");
    found.error({"a.yaml", 1, 4}, "an \x1b escape", "", "");

    EXPECT_EQ(found.print().find('\x1b'), std::string::npos);
}

TEST(Nearest, CorrectsOneSlip) {
    EXPECT_EQ(nearest("layrs", {"layers", "hidden", "heads"}), "layers");
    EXPECT_EQ(nearest("heasd", {"layers", "hidden", "heads"}), "heads");
    EXPECT_EQ(nearest("zero_stage", {"zero", "secondary"}), "zero");
    EXPECT_EQ(nearest("LAYERS", {"layers", "hidden", "heads"}), "layers");
    EXPECT_EQ(nearest("qqqqqq", {"layers", "hidden", "heads"}), "");
    EXPECT_EQ(nearest("", {"a"}), "");
    EXPECT_EQ(nearest(std::string(10000, 'a'), {"a"}), "");
}

TEST(EditDistance, CountsSwapsOnce) {
    EXPECT_EQ(edit_distance("abc", "abc"), 0);
    EXPECT_EQ(edit_distance("abc", "acb"), 1);
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

}  // namespace
}  // namespace ziggurat::deck
