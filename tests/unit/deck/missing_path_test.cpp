#include "deck/messages/missing_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

class MissingPath : public TinyDeck {
  protected:
    std::string reported(const std::vector<std::string>& overrides) {
        return load(without_gpus, overrides).found.print();
    }
    const std::string here_ = std::filesystem::current_path().string();
};

TEST_F(MissingPath, IsToldWithTheFolderInWhichItWasLookedFor) {
    const std::string note = "it was looked for in '" + here_ + "/none' (" + paths_begin_at + ")";
    for (const char* setting : {"data.train=[{format: text, path: none/a.txt}]", "run.resume=none/run",
                                "model.init={from: checkpoint, path: none/run}"}) {
        EXPECT_THAT(reported({setting}), HasSubstr(note)) << setting;
    }
    options_.needs_data = false;
    EXPECT_THAT(reported({"data.train=[{format: text, path: none/a.txt}]"}),
                HasSubstr("(there is no such file; looked for in '" + here_ + "/none'; a plan does not"));
    EXPECT_THAT(reported({"run.resume=none/run"}),
                HasSubstr("(there is no such folder in '" + here_ + "/none'; a plan does not need it"));
}

TEST_F(MissingPath, IsToldOnceForAFolder) {
    const auto text =
        reported({"data.train=[{format: text, path: none/a.txt}, {format: text, path: none/b.txt}, "
                  "{format: text, path: other/c.txt}]"});
    EXPECT_EQ(count(text, "it was looked for in '" + here_ + "/none'"), 1U) << text;
    EXPECT_THAT(text, HasSubstr("= 1 more like it: '" + here_ + "/other' ("));
}

TEST_F(MissingPath, OfAnAbsolutePathSaysItItself) {
    EXPECT_THAT(reported({"data.train=[{format: text, path: /none/a.txt}]"}), Not(HasSubstr("looked for")));
}

TEST_F(MissingPath, OfAnIncludedDeckBeginsAtTheFileThatNamesIt) {
    const auto text = load_text("deck_version: 1\ninclude: [common.yaml]\n", "none/deck.yaml", {}, options_);
    EXPECT_THAT(text.found.print(),
                HasSubstr("it was looked for in '" + here_ +
                          "/none' (paths of include are relative to the folder of the including file)"));
    const auto deck = deck::load("none/deck.yaml", {}, options_);
    EXPECT_THAT(deck.found.print(), HasSubstr("it was looked for in '" + here_ + "/none'.\n"));
}

}  // namespace
}  // namespace ziggurat::deck
