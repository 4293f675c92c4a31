#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "data/choice/choice_rows.hpp"
#include "data/choice/choice_task.hpp"
#include "data/choice/choose.hpp"
#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

class ChoiceTasks : public ::testing::Test {
  protected:
    std::vector<ChoiceTask> read(const std::string& text) {
        std::ofstream{folder_ / "task.jsonl", std::ios::binary} << text;
        return read_choice_tasks(folder_ / "task.jsonl", "--task");
    }
    std::string mismatch(const std::string& text) {
        return deck_error_of([&] { read(text); });
    }

    test::ScratchFolder folder_;
};

TEST_F(ChoiceTasks, HaveTheFieldsOfHellaSwag) {
    const auto tasks = read(
        R"({"ind": 24, "activity_label": "Roof", "ctx_a": "A man sits.", "ctx_b": "he", "ctx": "A man sits. he",)"
        R"( "label": 1, "endings": ["wraps skis.", "rips tiles."]})"
        "\r\n\n  \n"
        R"({"ctx_a": "A man sits.", "ctx_b": "he", "label": "2", "endings": ["a", "b", "c"]})"
        "\n"
        R"({"ctx_a": "A man sits.", "ctx_b": "", "label": "", "endings": ["a", "b"]})"
        "\n"
        R"({"ctx_a": "", "ctx_b": "he", "label": null, "endings": ["a", "b"]})"
        "\n"
        R"({"context": "2 + 2 =", "choices": ["3", "4", "5", "6", "7"], "answer": 1})");

    const auto with_nulls = read(
        R"({"ctx": null, "ctx_a": "A man.", "ctx_b": null, "endings": [], "choices": ["a", "b"], "label": null,)"
        R"( "answer": 1, "context": null})");
    ASSERT_EQ(1, std::ssize(with_nulls));
    EXPECT_EQ("A man.", with_nulls[0].context);
    EXPECT_THAT(with_nulls[0].endings, ElementsAre("a", "b"));
    EXPECT_THAT(with_nulls[0].label, Optional(1));

    ASSERT_EQ(5, std::ssize(tasks));
    EXPECT_EQ("A man sits. he", tasks[0].context);
    EXPECT_THAT(tasks[0].endings, ElementsAre("wraps skis.", "rips tiles."));
    EXPECT_THAT(tasks[0].label, Optional(1));
    EXPECT_EQ(1, tasks[0].line);
    EXPECT_EQ("A man sits. he", tasks[1].context);
    EXPECT_THAT(tasks[1].label, Optional(2));
    EXPECT_EQ(4, tasks[1].line);
    EXPECT_EQ("A man sits.", tasks[2].context);
    EXPECT_EQ(std::nullopt, tasks[2].label);
    EXPECT_EQ("he", tasks[3].context);
    EXPECT_EQ(std::nullopt, tasks[3].label);
    EXPECT_EQ("2 + 2 =", tasks[4].context);
    EXPECT_EQ(5, std::ssize(tasks[4].endings));
    EXPECT_THAT(tasks[4].label, Optional(1));
}

TEST_F(ChoiceTasks, AreRefusedWithTheirLine) {
    const std::string good = R"({"ctx": "a", "endings": ["b", "c"], "label": 0})"
                             "\n";
    for (const auto& [line, reason] : std::vector<std::pair<std::string, std::string>>{
             {"{", "not JSON"},
             {R"({"ctx": "a", "endings": ["b", "c"]} {})", "not JSON"},
             {"\"\xff\"", "not JSON"},
             {"[1, 2]", "not an object"},
             {std::string(100'000, '['), "nested more than"},
             {R"({"endings": ["b", "c"]})", "no context"},
             {R"({"ctx": 7, "endings": ["b", "c"]})", "its ctx is not a text"},
             {R"({"ctx_a": "a", "ctx_b": 3, "endings": ["b", "c"]})", "its ctx_b is not a text"},
             {R"({"ctx": null, "endings": ["b", "c"]})", "no context"},
             {R"({"ctx": "a"})", "no list endings"},
             {R"({"ctx": "a", "endings": "b"})", "not a list"},
             {R"({"ctx": "a", "endings": []})", "no list endings or choices, or it is empty"},
             {R"({"ctx": "a", "endings": ["b"]})", "only one ending"},
             {R"({"ctx": "a", "endings": ["b", 3]})", "ending 1 is not a text"},
             {R"({"ctx": "a", "endings": ["b", "c", ""]})", "ending 2 is empty"},
             {R"({"ctx": "a", "endings": ["b", "c"], "label": 2})",
              "label 2 is not one of its endings (0 to 1)"},
             {R"({"ctx": "a", "endings": ["b", "c"], "label": -1})", "label -1 is not one"},
             {R"({"ctx": "a", "endings": ["b", "c"], "label": 1.5})", "label 1.5 is not one"},
             {R"({"ctx": "a", "endings": ["b", "c"], "label": "1x"})", "label \"1x\" is not one"},
             {R"({"ctx": "a", "endings": ["b", "c"], "label": 18446744073709551616})", "is not one"},
             {R"({"ctx": "a", "endings": ["b", "c"], "label": true})", "label true is not one"}}) {
        const auto printed = mismatch(good + "\n" + line + "\n" + good);
        EXPECT_THAT(printed, HasSubstr("task.jsonl', line 3: ")) << line;
        EXPECT_THAT(printed, HasSubstr(reason)) << line;
    }
    EXPECT_THAT(mismatch(good + "\n" + std::string((std::size_t{16} << 20) + 1, 'x')),
                HasSubstr("task.jsonl', line 3: more than 16777216 bytes"));
    EXPECT_THAT(mismatch(" \n\n"), HasSubstr("holds no task"));
    EXPECT_THAT(mismatch(""), HasSubstr("holds no task"));
}

ChoiceTask task(std::string context, std::vector<std::string> endings) {
    return {.line = 7, .context = std::move(context), .endings = std::move(endings), .label = {}};
}

TEST(ChoiceRows, AreTheContextAndASpaceWithTheEndingEncodedApart) {
    const std::vector tasks{task("ab", {"c", "de"}), task("f", {"g", "h"})};

    const auto encoded = encode_choices(tasks, *make_byte_tokenizer(), {.vocab = 128, .max_read = 10}, "x");

    EXPECT_THAT(encoded.rows.rows,
                ElementsAre(ChoiceRow{2, 2}, ChoiceRow{2, 3}, ChoiceRow{1, 2}, ChoiceRow{1, 2}));
    EXPECT_THAT(encoded.rows.tokens,
                ElementsAre('a', 'b', ' ', 'c', 'a', 'b', ' ', 'd', 'e', 'f', ' ', 'g', 'f', ' ', 'h'));
    EXPECT_EQ(0, encoded.cut_rows);
    EXPECT_EQ(4, encoded.rows.longest_read());
    EXPECT_EQ(encoded.rows, ChoiceRows::of_bytes(encoded.rows.bytes()));
}

/// Drops blanks, as SentencePiece does, and makes a token of every other character.
class WithoutBlanks final : public TextTokenizer, public TextEncoder {
  public:
    std::unique_ptr<TextEncoder> make_encoder() const override { return std::make_unique<WithoutBlanks>(); }
    void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
        std::ranges::copy_if(text, std::back_inserter(ids), [](char c) { return c != ' '; });
    }
    void encode_with_begins(std::string_view,
                            std::vector<std::int32_t>&,
                            std::vector<std::uint32_t>&) override {}
    void decode(std::span<const std::int32_t>, std::string&) const override {}
    std::int64_t bytes_of(std::int32_t) const override { return 1; }
    std::int64_t vocab_size() const noexcept override { return 128; }
    std::optional<std::int32_t> document_token() const noexcept override { return std::nullopt; }
    std::uint64_t hash() const noexcept override { return 0; }
};

TEST(ChoiceRows, AreOfEndingsThatHaveTokens) {
    const WithoutBlanks tokenizer;
    const ChoiceLimits limits{.vocab = 128, .max_read = 4};
    const std::vector tasks{task("abcdef", {"c", "   "}), task("ab", {"c", "d"}), task("ab", {" ", "d"})};

    const auto encoded = encode_choices(tasks, tokenizer, limits, "x");

    EXPECT_THAT(encoded.skipped, ElementsAre(0, 2));
    EXPECT_EQ(encoded.first_skipped_ending, 1U);
    EXPECT_EQ(encoded.cut_rows, 0) << "a skipped task has no rows";
    EXPECT_EQ(encoded.rows, encode_choices(std::span{tasks}.subspan(1, 1), tokenizer, limits, "x").rows);
    EXPECT_THAT(deck_error_of([&] { encode_choices(std::span{tasks}.first(1), tokenizer, limits, "x"); }),
                HasSubstr("'x', line 7: ending 1 adds no token to its context"));
}

TEST(ChoiceRows, AreSkippedIfATokenSpansContextAndEnding) {
    test::ScratchFolder folder;
    auto json = test::tokenizer_json({{"a", " "}, {"a ", "b"}});
    json["pre_tokenizer"]["use_regex"] = false;
    std::ofstream{folder / "tokenizer.json"} << json;
    const std::vector tasks{task("a", {"b", "c"}), task("a", {"bd", "c"})};

    const auto encoded = encode_choices(tasks, *open_tokenizer(folder / "tokenizer.json"),
                                        {.vocab = 258, .max_read = 10}, "x");

    EXPECT_THAT(encoded.skipped, ElementsAre(0)) << "'a b' is one token, as is its context";
    EXPECT_THAT(encoded.rows.rows, ElementsAre(ChoiceRow{1, 1}, ChoiceRow{1, 1}));
}

TEST(ChoiceRows, AreOfContextAndEndingAsOneText) {
    test::ScratchFolder folder;
    auto json = test::tokenizer_json({{"a", " "}, {" ", "b"}});
    json["pre_tokenizer"]["use_regex"] = false;
    std::ofstream{folder / "tokenizer.json"} << json;
    const std::vector tasks{task("a", {"b", "c"})};

    const auto encoded = encode_choices(tasks, *open_tokenizer(folder / "tokenizer.json"),
                                        {.vocab = 258, .max_read = 10}, "x");

    EXPECT_THAT(encoded.rows.tokens, ElementsAre('a', 'b', 'a', 'c')) << "'a b' is 256 and b, 'a' one token";
}

TEST(ChoiceRows, LoseTheBeginningOfAContextThatDoesNotFit) {
    const std::vector tasks{task("abcdef", {"g", "hij"})};

    const auto encoded = encode_choices(tasks, *make_byte_tokenizer(), {.vocab = 128, .max_read = 5}, "x");

    // Six tokens, of which five are inputs: the last one is only a target.
    EXPECT_THAT(encoded.rows.rows, ElementsAre(ChoiceRow{4, 2}, ChoiceRow{2, 4}));
    EXPECT_THAT(encoded.rows.tokens, ElementsAre('c', 'd', 'e', 'f', ' ', 'g', 'e', 'f', ' ', 'h', 'i', 'j'));
    EXPECT_EQ(2, encoded.cut_rows);
    EXPECT_EQ(5, encoded.rows.longest_read());

    const std::vector fits{task("ab", {"c", "ghij"})};
    EXPECT_EQ(1, encode_choices(fits, *make_byte_tokenizer(), {.vocab = 128, .max_read = 5}, "x").cut_rows);
    EXPECT_EQ(0, encode_choices(fits, *make_byte_tokenizer(), {.vocab = 128, .max_read = 6}, "x").cut_rows);
    const std::vector too_long{task("ab", {"c", "ghijk"})};
    EXPECT_THAT(deck_error_of([&] {
                    encode_choices(too_long, *make_byte_tokenizer(), {.vocab = 128, .max_read = 5}, "x");
                }),
                HasSubstr("'x', line 7: ending 1 has 6 tokens"));
}

TEST(ChoiceRows, BeginWithTheDocumentTokenWhereThereIsNoContext) {
    test::ScratchFolder folder;
    auto json = test::tokenizer_json({});
    json["added_tokens"].push_back(test::added_token(256, "<|endoftext|>"));
    std::ofstream{folder / "tokenizer.json"} << json;
    const std::vector tasks{task("", {"b", "c"})};
    const ChoiceLimits limits{.vocab = 257, .max_read = 10};

    const auto encoded = encode_choices(tasks, *open_tokenizer(folder / "tokenizer.json"), limits, "x");

    EXPECT_THAT(encoded.rows.tokens, ElementsAre(256, ' ', 'b', 256, ' ', 'c'));
    EXPECT_THAT(deck_error_of([&] { encode_choices(tasks, *make_byte_tokenizer(), limits, "x"); }),
                HasSubstr("'x', line 7: its context is empty"));
}

TEST(ChoiceRows, RefuseTokensThatTheModelDoesNotHave) {
    for (const auto& unknown : {task("z", {"b", "c"}), task("a", {"b", "z"})}) {
        EXPECT_THAT(
            deck_error_of([&] {
                encode_choices(std::vector{unknown}, *make_byte_tokenizer(), {.vocab = 'z', .max_read = 10},
                               "x");
            }),
            HasSubstr("'x', line 7: token 122 is not in the vocabulary (model.vocab = 122, ids 0 to 121)"));
    }
}

TEST(Choices, TakeTheGreatestSumByEachNormalisationAndTheFirstOfEqualOnes) {
    const std::vector tasks{task("a", {"bb", "c", "d\u00e9"}), task("a", {"b", "c"})};
    const std::vector<ChoiceRow> rows{{1, 3}, {1, 1}, {1, 4}, {1, 2}, {1, 2}};
    const std::vector sums{-3.0, -2.5, -3.2, -1.0, -1.0};

    const auto choices = choose(tasks, rows, sums);

    EXPECT_THAT(choices[0].by(Normalisation::none), Optional(1));
    EXPECT_THAT(choices[0].by(Normalisation::tokens), Optional(2));
    EXPECT_THAT(choices[0].by(Normalisation::characters), Optional(0))
        << "an accented letter is one character";
    EXPECT_THAT(choices[0].tokens, ElementsAre(3, 1, 4));
    EXPECT_THAT(choices[1].by(Normalisation::none), Optional(0));
    EXPECT_THAT(choices[1].by(Normalisation::tokens), Optional(0));
    EXPECT_THAT(choices[1].by(Normalisation::characters), Optional(0));
}

TEST(Choices, AreCountedWhereThereIsALabel) {
    std::vector tasks(4, task("a", {"b", "c"}));
    tasks[0].label = 1;
    tasks[1].label = 0;
    tasks[2].label = 1;  // the last task has no label
    const std::vector<ChoiceRow> rows{{1, 2}, {1, 1}, {1, 1}, {1, 9}, {1, 2}, {1, 2}, {1, 2}, {1, 2}};
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto choices = choose(tasks, rows, std::vector{-2.0, -1.5, -1.0, -2.0, nan, -1.0, -2.0, -1.0});

    const auto counts = count_right(tasks, choices);

    EXPECT_EQ(4, counts.tasks);
    EXPECT_EQ(3, counts.labelled);
    EXPECT_EQ(1, counts.undecided);
    EXPECT_THAT(counts.right, ElementsAre(2, 0, 2)) << "what is not finite is not right";
    EXPECT_DOUBLE_EQ(2.0 / 3, counts.accuracy(Normalisation::none));
    EXPECT_DOUBLE_EQ(1.0 / 3, counts.standard_error(Normalisation::none));
    EXPECT_EQ(std::nullopt, choices[2].by(Normalisation::tokens));
    EXPECT_THAT(choices[3].by(Normalisation::tokens), Optional(1));
}

}  // namespace
}  // namespace ziggurat::data
