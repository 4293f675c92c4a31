#include "train/generate/generated_text.hpp"

#include <gtest/gtest.h>

#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::train {
namespace {

/// A text of bytes after the prompt "ab".
class Growing : public ::testing::Test {
  protected:
    GrowingText of(const TextSettings& settings) {
        settings_ = settings;
        prompt_ = encode_prompt(*tokenizer_, spec::AddBos::no, "ab");
        prompt_.end_tokens = {'!', '?'};
        return {*tokenizer_, prompt_, settings_};
    }
    static void add(GrowingText& text, const std::string& bytes) {
        for (const char byte : bytes) {
            text.add(static_cast<unsigned char>(byte));
        }
    }

  private:
    std::unique_ptr<const data::TextTokenizer> tokenizer_ = data::open_tokenizer(spec::Tokenizer{});
    TextPrompt prompt_;
    TextSettings settings_;
};

TEST_F(Growing, EndsBeforeAnEndToken) {
    auto text = of({.tokens = 9});
    add(text, "cd?");
    ASSERT_TRUE(text.has_ended());
    EXPECT_EQ(text.result().text, "cd");
    EXPECT_EQ(text.result().tokens, 3);
    EXPECT_EQ(to_string(text.result().end), "end");
}

TEST_F(Growing, EndsBeforeTheFirstStopString) {
    auto text = of({.tokens = 9, .ends = {"xyz", "yz"}});
    add(text, "cxy");
    EXPECT_FALSE(text.has_ended());
    EXPECT_EQ(text.stable_text(), "c") << "xy may be the beginning of a stop string";
    add(text, "z");
    EXPECT_EQ(text.result().text, "c");
    EXPECT_EQ(to_string(text.result().end), "stop");
}

TEST_F(Growing, EndsAtItsLength) {
    auto text = of({.tokens = 3});
    add(text, "cd");
    EXPECT_FALSE(text.has_ended());
    add(text, "e");
    EXPECT_EQ(text.result().text, "cde");
    EXPECT_EQ(text.result().tokens, 3);
    EXPECT_EQ(to_string(text.result().end), "length");
    auto other = of({.tokens = 3});
    add(other, "c");
    other.end_here();
    EXPECT_EQ(other.result().text, "c");
}

TEST_F(Growing, ShowsOnlyCompleteCharacters) {
    auto text = of({.tokens = 20});
    add(text, "c\xe2\x82");
    EXPECT_EQ(text.stable_text(), "c");
    add(text, "\xac");
    EXPECT_EQ(text.stable_text(), "c\xe2\x82\xac");
    add(text, "\xf0\x9f\x98");
    EXPECT_EQ(text.stable_text(), "c\xe2\x82\xac");
    add(text, "a");
    EXPECT_EQ(text.stable_text(),
              "c\xe2\x82\xac\xf0\x9f\x98"
              "a")
        << "no later byte completes the character";
    add(text, "\x80");
    EXPECT_EQ(text.stable_text().size(), 9U);
}

}  // namespace
}  // namespace ziggurat::train
