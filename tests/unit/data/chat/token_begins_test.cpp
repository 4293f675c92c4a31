#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/tokenizer/text_tokenizer.hpp"
#include "data/unicode/composed_form.hpp"
#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using Json = nlohmann::json;
using test::added_token;
using test::deck_error_of;
using test::ScratchFolder;
using test::tokenizer_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Begins = std::vector<std::uint32_t>;

class TokenBegins : public ::testing::Test {
  protected:
    /// Returns the offsets, after a check that the ids are those of encode().
    Begins begins(const Json& json, const std::string& text) {
        const auto tokenizer = open_tokenizer(folder_.write("tokenizer.json", json.dump()));
        std::vector<std::int32_t> ids;
        std::vector<std::int32_t> same;
        Begins found;
        const auto encoder = tokenizer->make_encoder();
        encoder->encode_with_begins(text, ids, found);
        encoder->encode(text, same);
        EXPECT_EQ(ids, same);
        EXPECT_EQ(ids.size(), found.size());
        return found;
    }

    ScratchFolder folder_;
};

/// Returns a tokenizer of characters in the style of Llama 2, with a mark for spaces.
Json of_characters() {
    Json model = {{"type", "BPE"},
                  {"byte_fallback", true},
                  {"unk_token", "<unk>"},
                  {"vocab", Json::object()},
                  {"merges", Json::array({"a b", "\u2581 ab"})}};
    int id = 0;
    for (const std::string text : {"<unk>", "a", "b", "\u2581", "ab", "\u2581ab", "<0xC3>", "<0xA9>"}) {
        model["vocab"][text] = id++;
    }
    return {{"version", "1.0"},
            {"added_tokens", Json::array()},
            {"normalizer",
             {{"type", "Sequence"},
              {"normalizers",
               {{{"type", "Prepend"}, {"prepend", "\u2581"}},
                {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
            {"pre_tokenizer", nullptr},
            {"decoder", nullptr},
            {"model", model}};
}

TEST_F(TokenBegins, AreThoseOfBytesAndAddedTokens) {
    auto json = tokenizer_json({{"a", "b"}, {" ", "ab"}});
    auto taking = added_token(258, "<R>");
    taking["rstrip"] = true;
    taking["lstrip"] = true;
    json["added_tokens"] = {taking};
    EXPECT_THAT(begins(json, "ab ab\xc3\xa9"), ElementsAre(0, 2, 5, 6));
    EXPECT_THAT(begins(json, "ab <R>\n ab"), ElementsAre(0, 2, 8));
}

TEST_F(TokenBegins, SkipTextThatIsRemoved) {
    auto json = tokenizer_json({});
    json["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"String", "-"}}}, {"behavior", "Removed"}, {"invert", false}},
          {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}}}}};
    // Each piece gets a space, which has the offset of the piece.
    EXPECT_THAT(begins(json, "a--b"), ElementsAre(0, 0, 3, 3));
}

TEST_F(TokenBegins, AreThoseOfCharactersBehindMarksAndBytes) {
    const auto json = of_characters();
    EXPECT_THAT(begins(json, "ab ab"), ElementsAre(0, 2));
    EXPECT_THAT(begins(json, "b\xc3\xa9"), ElementsAre(0, 0, 1, 2));
    EXPECT_THAT(begins(json, "a  b"), ElementsAre(0, 0, 1, 2, 3));
    EXPECT_THAT(deck_error_of([&] { begins(json, "aXb"); }), HasSubstr("no exact offsets"));
}

TEST_F(TokenBegins, AreThoseOfMetaspace) {
    auto json = of_characters();
    json["normalizer"] = nullptr;
    json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}};
    json["added_tokens"] = {added_token(8, "</s>")};
    EXPECT_THAT(begins(json, "ab ab</s>ab"), ElementsAre(0, 2, 5, 9));
}

TEST_F(TokenBegins, AreThoseBeforeComposition) {
    auto json = tokenizer_json({{"\xc3", "\xa9"}});
    json["normalizer"] = {{"type", "NFC"}};
    // Three bytes become two: the token of the composed character, then the text after it.
    EXPECT_THAT(begins(json, "xe\u0301y"), ElementsAre(0, 1, 4));
    const ComposedForm form;
    EXPECT_THAT(form.origins_of("e\u0301 \u1100\u1161\u11a8"), ElementsAre(0, 0, 3, 4, 4, 4, 13));
    EXPECT_THAT(form.origins_of("a\u0316"), ElementsAre(0, 1, 2, 3));
}

TEST_F(TokenBegins, AreThoseBeforeStripping) {
    auto json = tokenizer_json({});
    json["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
    EXPECT_THAT(begins(json, "  ab "), ElementsAre(2, 3));
}

TEST(TokenBeginsOfBytes, AreTheirPositions) {
    std::vector<std::int32_t> ids{1};
    Begins found;
    make_byte_tokenizer()->make_encoder()->encode_with_begins("xyz", ids, found);
    EXPECT_THAT(found, ElementsAre(0, 1, 2));
    EXPECT_THAT(ids, ElementsAre(1, 'x', 'y', 'z'));
}

}  // namespace
}  // namespace ziggurat::data
