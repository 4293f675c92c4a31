#include "deck/messages/diagnostics.hpp"

#include <gtest/gtest.h>

#include "deck/messages/confusables.hpp"
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
    EXPECT_EQ(found.sorted().size(), Diagnostics::max_kept);
    EXPECT_NE(found.print(3).find("and 4998 more"), std::string::npos);
}

TEST(Diagnostics, TellOnceWhatTheySayOfSeveralFiles) {
    Diagnostics found;
    found.remember("a.yaml", "x\n");
    for (int i = 0; i < 3; ++i) {
        const auto name = "'" + std::string(1, static_cast<char>('a' + i)) + ".txt'";
        found.note({"a.yaml", 1, 10 * i + 1}, name + " is not here", "there is no such file");
        found.warning({"a.yaml", 1, 10 * i + 2}, name + " is read as text",
                      std::to_string(5 + 3 * i) + "% of data.train[" + std::to_string(i) + "] are none", "");
    }
    found.note({"b.yaml", 1, 1}, "'d.txt' is not here", "there is no such file");
    found.note({"a.yaml", 0, 0}, "'e.txt' is not here", "it is not readable");
    found.error({"a.yaml", 2, 1}, "'f.txt' is bad", "", "");
    found.error({"a.yaml", 2, 5}, "'g.txt' is bad", "", "");

    EXPECT_EQ(found.print(),
              "ziggurat: note: a.yaml: 'e.txt' is not here (it is not readable).\n"
              "ziggurat: note: a.yaml:1:1: 'a.txt' is not here (there is no such file).\n"
              "   1 | x\n"
              "     | ^\n"
              "     = 2 more like it: 'b.txt' (1:11), 'c.txt' (1:21)\n"
              "ziggurat: warning: a.yaml:1:2: 'a.txt' is read as text (5% of data.train[0] are none).\n"
              "   1 | x\n"
              "     |  ^\n"
              "     = 2 more like it: 'b.txt' (1:12), 'c.txt' (1:22)\n"
              "ziggurat: error: a.yaml:2:1: 'f.txt' is bad.\n"
              "   2 | \n"
              "     | ^\n"
              "ziggurat: error: a.yaml:2:5: 'g.txt' is bad.\n"
              "   2 | \n"
              "     | ^\n"
              "ziggurat: note: b.yaml:1:1: 'd.txt' is not here (there is no such file).\n"
              "2 errors, 3 warnings, 5 notes. Nothing was started.\n");
    EXPECT_EQ(found.sorted().size(), 10U) << "programs get all of them";
}

TEST(Diagnostics, NameTheFirstOfMany) {
    Diagnostics found;
    for (int i = 1; i <= 40; ++i) {
        found.note({"a.yaml", i, 1}, "'x" + std::to_string(i) + "' is not here");
    }
    const auto text = found.print();
    EXPECT_NE(text.find("39 more like it: 'x2' (2:1), "), std::string::npos) << text;
    EXPECT_NE(text.find("'x11' (11:1) ...\n"), std::string::npos) << text;
}

TEST(Diagnostics, SayWhoMustAct) {
    Diagnostics found;
    found.warning({"a.yaml", 1, 1}, "slow", "", "");
    EXPECT_EQ(found.exit_code(), 0);
    found.add_resource_error({"a.yaml", 2, 1}, "no such folder", "", "");
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

TEST(LookAlikes, AreNamedWithTheirCodeAndPlace) {
    EXPECT_EQ(confusables("lr: 1e\u20133", 5), "U+2013 in column 7 is an en dash, not a '-'.");
    EXPECT_EQ(confusables("\u00a0 preset: a", 1), "U+00A0 in column 1 is a no-break space, not a space.");
    EXPECT_EQ(confusables("seq: \uff12\uff15\uff16\uff10", 6),
              "U+FF12 in column 6 is full-width, not a '2'. U+FF15 in column 9 is full-width, not a '5'. "
              "U+FF16 in column 12 is full-width, not a '6'.");
    EXPECT_EQ(confusables("a\u200b: 1", 1), "U+200B in column 2 is a zero-width space, which is invisible.");
}

TEST(LookAlikes, AreNotLookedForBeforeTheErrorNorInComments) {
    EXPECT_EQ(confusables("run: {name: 'a \u2013 b', seed: x}", 25), "");
    EXPECT_EQ(confusables("seed: x  # 1\u20135", 7), "");
    EXPECT_EQ(confusables("name: gr\u00fc\u00dfe", 1), "") << "letters of a language are what they are";
    EXPECT_EQ(confusables("broken \xe2\x80", 1), "");
    EXPECT_EQ(confusables("", 7), "");
}

TEST(Diagnostics, SayWhichCharacterOnlyLooksRight) {
    Diagnostics found;
    found.remember("a.yaml", "lr: 1e\u20133\n");
    found.error({"a.yaml", 1, 5}, "lr is no number", "", "Write one.");
    found.warning({"a.yaml", 1, 5}, "so it is", "", "");
    EXPECT_EQ(found.sorted()[0].advice, "Write one. U+2013 in column 7 is an en dash, not a '-'.");
    EXPECT_EQ(found.sorted()[1].advice, "");
}

}  // namespace
}  // namespace ziggurat::deck
