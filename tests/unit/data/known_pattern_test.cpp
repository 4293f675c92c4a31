#include <gtest/gtest.h>

#include "data/tokenizer/pattern.hpp"
#include "data/unicode/character_classes.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

std::vector<std::size_t> ends_of_matches(const Pattern& pattern, std::string_view text) {
    MatchIterator matches{pattern, text};
    std::vector<std::size_t> ends;
    for (MatchRange match; matches.next(match);) {
        EXPECT_EQ(ends.empty() ? 0 : ends.back(), match.begin) << "a character without a match";
        ends.push_back(match.end);
    }
    return ends;
}

/// Characters that the expressions distinguish, and their relatives under case folding.
const std::vector<std::string> telling{
    "'",      "s",      "S",      "t",          "re",     "rE",     "VE",     "m",      "LL",     "l",
    "d",      "\u017f", "\u1e9e", " ",          "  ",     "\t",     "\n",     "\r",     "\r\n",   "\u00a0",
    "\u0085", "\u3000", "a",      "Z",          "\u00e9", "\u0301", "1",      "23",     "4567",   "\u0663",
    "\u2167", "\u00bd", ".",      ",",          "\u2019", "_",      "-",      "\u200d", "\u00df", "\0",
    "\u1efb", "\ufb06", "\u4e2d", "\U0001f600", "\u212a", "\u180e", "\u200b", "\u2028", "\ufeff"};

std::string drawn_text(test::Draw& draw) {
    std::string text;
    for (auto left = draw.between(1, 24); left > 0; --left) {
        if (draw.chance(0.8)) {
            text += draw.one_of(telling);
        } else {
            auto code = static_cast<std::uint32_t>(draw.between(0, draw.chance(0.5) ? 0x2FFF : max_code));
            append_utf8(text, code >= 0xD800 && code < 0xE000 ? 'x' : code);
        }
    }
    return text;
}

const std::vector<std::string> expressions{
    std::string{words_expression},
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", test::llama3_expression,
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

/// Expected matches are those of tokenizers 0.23.3: e2e/field2_patterns compares more.
TEST(CompiledPattern, KnowsLetterPairsOfUnicode16) {
    const std::string small = "\u1c8a", capital = "\u1c89", garay_small = "\U00010d70", garay = "\U00010d50";
    const auto is_match = [](const std::string& expression, const std::string& text) {
        MatchRange match;
        return compile_pattern(expression)->search(text, 0, match) && match == MatchRange{0, text.size()};
    };
    for (const std::string expression :
         {R"((?i:[\p{Lu}]))", R"((?i:[\x{10D50}\x{1C89}]))", R"((?i:\x{10D70}|\x{1C8A}))"}) {
        for (const auto& text : {small, capital, garay_small, garay}) {
            EXPECT_TRUE(is_match(expression, text)) << expression << " " << text;
        }
    }
    EXPECT_TRUE(is_match(R"((?i:x\x{1C8A}\x{10D50}y))", "X" + capital + garay_small + "Y"));
    EXPECT_TRUE(is_match(R"((?i:\p{Lu}))", capital));
    EXPECT_FALSE(is_match(R"((?i:\p{Lu}))", small)) << "a property alone has one case";
    EXPECT_FALSE(is_match(R"([\p{Lu}])", small));
    EXPECT_FALSE(is_match(R"((?i:[^\p{Lu}]))", garay_small));
}

TEST(KnownPattern, MatchesRandomTextsAsOnigurumaDoes) {
    for (const auto& expression : expressions) {
        const auto by_hand = known_pattern(expression);
        ASSERT_NE(nullptr, by_hand);
        const auto engine = compile_pattern(expression);
        test::Draw draw{1};
        for (int i = 0; i < 20'000; ++i) {
            const auto text = drawn_text(draw);
            ASSERT_EQ(ends_of_matches(*engine, text), ends_of_matches(*by_hand, text)) << expression << "\n"
                                                                                       << text;
        }
    }
}

/// Every character after an apostrophe, a space and a letter, and before a letter.
TEST(KnownPattern, MatchesEveryCharacterAsOnigurumaDoes) {
    for (const auto& expression : expressions) {
        const auto by_hand = known_pattern(expression);
        const auto engine = compile_pattern(expression);
        std::string text;
        for (std::uint32_t code = 0; code <= max_code; ++code) {
            if (code < 0xD800 || code >= 0xE000) {
                text += "'";
                append_utf8(text, code);
                text += "x ";
                append_utf8(text, code);
            }
            if (text.size() > 4096 || code == max_code) {
                ASSERT_EQ(ends_of_matches(*engine, text), ends_of_matches(*by_hand, text)) << expression;
                text.clear();
            }
        }
    }
}

TEST(KnownPattern, KnowsNoOther) {
    EXPECT_EQ(nullptr, known_pattern(R"(\s+)"));
    EXPECT_EQ(nullptr, known_pattern(std::string{words_expression} + "|x"));
}

TEST(Pattern, IteratesOverEmptyMatches) {
    const auto pattern = compile_pattern("x*");
    MatchIterator matches{*pattern, "a\u00e9xxb"};
    std::vector<MatchRange> found;
    for (MatchRange match; matches.next(match);) {
        found.push_back(match);
    }
    EXPECT_EQ((std::vector<MatchRange>{{0, 0}, {1, 1}, {3, 5}, {6, 6}}), found);
}

}  // namespace
}  // namespace ziggurat::data
