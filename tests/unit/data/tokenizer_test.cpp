#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
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
using Ids = std::vector<std::int32_t>;

class TokenizerFile : public ::testing::Test {
  protected:
    std::unique_ptr<const TextTokenizer> open(const Json& json) {
        return open_tokenizer(folder_.write("tokenizer.json", json.dump()));
    }
    Ids encode(const Json& json, const std::string& text) {
        Ids ids;
        open(json)->encode(text, ids);
        return ids;
    }
    std::string mismatch(const Json& json) {
        return deck_error_of([&] { open(json); });
    }

    ScratchFolder folder_;
};

/// Returns the texts of tokens, each after a bar.
std::string with_bars(const TextTokenizer& tokenizer, const std::string& text) {
    Ids ids;
    tokenizer.encode(text, ids);
    std::string bars;
    for (const auto id : ids) {
        bars += "|";
        tokenizer.decode(std::span{&id, 1}, bars);
    }
    return bars;
}

TEST(ByteTokenizer, GivesBytesAndTakesThemBack) {
    const auto tokenizer = make_byte_tokenizer();
    Ids ids{7};
    tokenizer->encode("A\xff", ids);
    EXPECT_THAT(ids, ElementsAre(7, 65, 255));
    std::string text;
    tokenizer->decode(ids, text);
    EXPECT_EQ(
        "\x07"
        "A\xff",
        text);
    EXPECT_EQ(256, tokenizer->vocab_size());
    EXPECT_EQ(std::nullopt, tokenizer->document_token());
    EXPECT_THAT(deck_error_of([&] { tokenizer->decode(Ids{256}, text); }), HasSubstr("256 is not a byte"));
}

TEST_F(TokenizerFile, MergesByRankAndLeftmostFirst) {
    const auto json = tokenizer_json({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "aa"}});
    EXPECT_THAT(encode(json, "abc"), ElementsAre('a', 256));
    EXPECT_THAT(encode(json, "ab"), ElementsAre(257));
    EXPECT_THAT(encode(json, "aaaaa"), ElementsAre(259, 'a'));
    EXPECT_THAT(encode(json, "aaab"), ElementsAre(258, 257));
    EXPECT_THAT(encode(json, ""), ElementsAre());
}

TEST_F(TokenizerFile, TakesMergesAsPairsToo) {
    auto json = tokenizer_json({{"a", "b"}, {" ", "ab"}});
    const auto before = encode(json, "ab ab");
    json["model"]["merges"] = Json::array({Json::array({"a", "b"}), Json::array({test::spelled(" "), "ab"})});
    EXPECT_EQ(before, encode(json, "ab ab"));
    EXPECT_THAT(before, ElementsAre(256, 257));
}

TEST_F(TokenizerFile, DecodesWhatItEncodes) {
    const auto tokenizer = open(tokenizer_json({{"\xc3", "\xa9"}, {" ", "t"}}));
    const std::string text = "caf\xc3\xa9 t\n\xf0\x9f\x98\x80";
    Ids ids;
    tokenizer->encode(text, ids);
    std::string back;
    tokenizer->decode(ids, back);
    EXPECT_EQ(text, back);
    EXPECT_EQ("|c|a|f|\xc3\xa9| t|\n|\xf0|\x9f|\x98|\x80", with_bars(*tokenizer, text));
    EXPECT_THAT(deck_error_of([&] { tokenizer->decode(Ids{258}, back); }), HasSubstr("token 258 is not in"));
    EXPECT_THAT(deck_error_of([&] { tokenizer->decode(Ids{-1}, back); }), HasSubstr("token -1"));
}

TEST_F(TokenizerFile, RefusesTextThatIsNoUtf8AndAppendsNothing) {
    const auto tokenizer = open(tokenizer_json({}));
    for (const std::string bad :
         {"\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
        Ids ids{1};
        EXPECT_THAT(deck_error_of([&] { tokenizer->encode("good text" + bad, ids); }),
                    HasSubstr("not UTF-8 at its byte 9"));
        EXPECT_THAT(ids, ElementsAre(1));
    }
}

TEST_F(TokenizerFile, IgnoresMergesForWholePiecesAlone) {
    auto json = tokenizer_json({{"a", "b"}, {"ab", "c"}});
    json["model"]["merges"].erase(0);  // so that no merge gives abc
    EXPECT_THAT(encode(json, "abc"), ElementsAre('a', 'b', 'c'));
    json["model"]["ignore_merges"] = true;
    EXPECT_THAT(encode(json, "abc"), ElementsAre(257));
    EXPECT_THAT(encode(json, "abcd"), ElementsAre('a', 'b', 'c', 'd'));
}

TEST_F(TokenizerFile, FindsAddedTokensLeftmostAndLongest) {
    auto json = tokenizer_json({{"<", "<"}});
    json["added_tokens"] = {added_token(257, "<a>"), added_token(258, "<a>b"), added_token(259, "a>")};
    EXPECT_THAT(encode(json, "<a<a>b<a>c"), ElementsAre('<', 'a', 258, 257, 'c'));
    EXPECT_THAT(encode(json, "a><"), ElementsAre(259, '<'));
}

TEST_F(TokenizerFile, AddedTokensTakeSpaceWhereTheySaySo) {
    auto json = tokenizer_json({});
    auto left = added_token(256, "<L>");
    left["lstrip"] = true;
    auto right = added_token(257, "<R>");
    right["rstrip"] = true;
    json["added_tokens"] = {left, right};
    EXPECT_THAT(encode(json, "a \xe3\x80\x80<L> b"), ElementsAre('a', 256, ' ', 'b'));
    EXPECT_THAT(encode(json, "a <R>\t\nb"), ElementsAre('a', ' ', 257, 'b'));
    EXPECT_THAT(encode(json, "<R>  <L>"), ElementsAre(257, 256));
}

TEST_F(TokenizerFile, FindsNormalizedTokensAfterTheOthers) {
    auto json = tokenizer_json({});
    auto normalized = added_token(257, "xy");
    normalized["normalized"] = true;
    json["added_tokens"] = {added_token(256, "yz"), normalized};
    EXPECT_THAT(encode(json, "xyz"), ElementsAre('x', 256));
    EXPECT_THAT(encode(json, "xyxyz"), ElementsAre(257, 'x', 256));
}

TEST_F(TokenizerFile, NamesTheDocumentToken) {
    auto json = tokenizer_json({});
    EXPECT_EQ(std::nullopt, open(json)->document_token());
    json["added_tokens"] = {added_token(256, "<|end_of_text|>"), added_token(257, "<|endoftext|>"),
                            added_token(258, "</s>")};
    EXPECT_EQ(257, open(json)->document_token());
    EXPECT_EQ(259, open(json)->vocab_size());
    folder_.write("tokenizer_config.json", R"({"eos_token": "</s>"})");
    EXPECT_EQ(258, open(json)->document_token());
    folder_.write("tokenizer_config.json", R"({"eos_token": {"content": "<|end_of_text|>"}})");
    EXPECT_EQ(256, open(json)->document_token());
    folder_.write("tokenizer_config.json", R"({"eos_token": "<eos>"})");
    EXPECT_THAT(mismatch(json), HasSubstr("eos_token '<eos>' is not among the added_tokens"));
}

TEST_F(TokenizerFile, HashIsThatOfItsBytes) {
    auto json = tokenizer_json({});
    const auto hash = open(json)->hash();
    EXPECT_EQ(hash, open(json)->hash());
    EXPECT_EQ(hash, open_tokenizer(folder_ / "")->hash());
    json["added_tokens"].push_back(added_token(256, "<x>"));
    EXPECT_NE(hash, open(json)->hash());
}

TEST_F(TokenizerFile, IsThatOfTheRunByItsHash) {
    const auto json = tokenizer_json({});
    spec::Tokenizer of_run{spec::TokenizerKind::hf, folder_.write("tokenizer.json", json.dump()), ""};
    of_run.hash = hash_text(*open_tokenizer(of_run));
    EXPECT_THAT(of_run.hash, ::testing::StartsWith("xxh3:"));
    EXPECT_EQ(open_tokenizer(of_run)->vocab_size(), 256);
    folder_.write("tokenizer.json", json.dump() + " ");
    EXPECT_THAT(deck_error_of([&] { open_tokenizer(of_run); }), HasSubstr("is not the tokenizer of the run"));
    of_run.hash.clear();
    EXPECT_NE(open_tokenizer(of_run), nullptr);
    EXPECT_EQ(open_tokenizer(spec::Tokenizer{spec::TokenizerKind::none, "", ""}), nullptr);
    EXPECT_EQ(open_tokenizer(spec::Tokenizer{})->hash(), 0U) << "bytes";
}

TEST_F(TokenizerFile, CountsTheBytesOfTextOfEachToken) {
    auto json = tokenizer_json({{"a", "b"}, {"ab", "c"}});
    json["added_tokens"] = {added_token(258, "<|endoftext|>"), added_token(259, "<x>")};
    const auto tokenizer = open(json);
    EXPECT_EQ(tokenizer->bytes_of('a'), 1);
    EXPECT_EQ(tokenizer->bytes_of(257), 3);
    EXPECT_EQ(tokenizer->bytes_of(258), 0) << "stands between texts";
    EXPECT_EQ(tokenizer->bytes_of(259), 3);
    EXPECT_EQ(make_byte_tokenizer()->bytes_of(200), 1);
}

TEST_F(TokenizerFile, DecodesWhatComesBehindATextThatHasBegun) {
    const auto tokenizer = open(tokenizer_json({}));
    const Ids before{'a', 0xC3};
    const Ids after{0xA9, '!'};
    EXPECT_EQ(decoded_after(*tokenizer, before, after), "\xA9!");
    EXPECT_EQ(decoded_after(*tokenizer, {}, after), "\xA9!");
}

TEST_F(TokenizerFile, IsSentencePieceByItsName) {
    EXPECT_TRUE(is_sentencepiece("some/tokenizer.model"));
    EXPECT_FALSE(is_sentencepiece("some/tokenizer.json"));
    folder_.write("tokenizer.model", "no model");
    EXPECT_TRUE(is_sentencepiece(folder_ / ""));
    EXPECT_THAT(deck_error_of([&] { open_tokenizer(folder_ / ""); }), HasSubstr("tokenizer.model'"));
    folder_.write("tokenizer.json", tokenizer_json({}).dump());
    EXPECT_FALSE(is_sentencepiece(folder_ / ""));
}

Json split(const Json& pattern, const std::string& behavior, bool invert = false) {
    return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
}

/// A split into pieces shows because no merge crosses the border of a piece.
TEST_F(TokenizerFile, SplitsAsItsBehaviorSays) {
    std::vector<std::pair<std::string, std::string>> merges;
    for (const std::string left : {"a", "-"}) {
        for (const std::string right : {"a", "-"}) {
            merges.emplace_back(left, right);
        }
    }
    merges.insert(merges.end(), {{"a-", "-"}, {"-", "-a"}});
    auto json = tokenizer_json(merges);
    const auto pieces = [&](const Json& step) {
        json["pre_tokenizer"] = {
            {"type", "Sequence"},
            {"pretokenizers",
             {step, {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
        return with_bars(*open(json), "-a--a");
    };
    const Json dash = {{"String", "-"}};
    EXPECT_EQ("|-|a|-|-|a", pieces(split(dash, "Isolated")));
    EXPECT_EQ("|a|a", pieces(split(dash, "Removed")));
    EXPECT_EQ("|-|-|-", pieces(split(dash, "Removed", true)));
    EXPECT_EQ("|-|a-|-|a", pieces(split(dash, "MergedWithPrevious")));
    EXPECT_EQ("|-a|-|-a", pieces(split(dash, "MergedWithNext")));
    EXPECT_EQ("|-|a|--|a", pieces(split(dash, "Contiguous")));
    EXPECT_EQ("|-|a|-|-|a", pieces(split({{"Regex", "-"}}, "Isolated", true)));
}

TEST_F(TokenizerFile, CutsDigits) {
    auto json = tokenizer_json({{"1", "2"}});
    const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
    json["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, byte_level}}};
    EXPECT_THAT(encode(json, "a12"), ElementsAre(' ', 'a', ' ', '1', ' ', '2'));
    json["pre_tokenizer"]["pretokenizers"][0]["individual_digits"] = false;
    EXPECT_THAT(encode(json, "a12"), ElementsAre(' ', 'a', ' ', 256));
}

TEST_F(TokenizerFile, ComposesCharactersWhereItIsAskedTo) {
    auto json = tokenizer_json({{"\xc3", "\xa9"}});
    EXPECT_THAT(encode(json, "e\u0301"), ElementsAre('e', 0xcc, 0x81));
    json["normalizer"] = {{"type", "NFC"}};
    EXPECT_THAT(encode(json, "e\u0301"), ElementsAre(256));
    EXPECT_THAT(encode(json, "e\u0316\u0301"), ElementsAre(256, 0xcc, 0x96));
    auto token = added_token(257, "x\u00e9");
    token["normalized"] = true;
    json["added_tokens"].push_back(token);
    EXPECT_THAT(encode(json, "xe\u0301"), ElementsAre(257));
    json["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", {{{"type", "NFC"}}, {{"type", "Lowercase"}}}}};
    EXPECT_THAT(mismatch(json), HasSubstr("its normalizer.normalizers[1] is Lowercase, which is not"));
}

TEST_F(TokenizerFile, AMegabyteWithoutSpacesTakesNoTime) {
    std::vector<std::pair<std::string, std::string>> merges{{"a", "a"}};
    for (std::string part = "aa"; part.size() < 1024; part += part) {
        merges.emplace_back(part, part);
    }
    const auto ids = encode(tokenizer_json(merges), std::string(std::size_t{1} << 20, 'a'));
    EXPECT_EQ(Ids(1024, 256 + 9), ids);
}

TEST_F(TokenizerFile, NamesWhatIsNotBuilt) {
    const auto good = tokenizer_json({{"a", "b"}});
    const auto changed = [&](const char* position, const Json& value) {
        auto json = good;
        json[Json::json_pointer{position}] = value;
        return mismatch(json);
    };
    const Json no_regex = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    EXPECT_THAT(changed("/normalizer", {{"type", "NFKC"}}),
                HasSubstr("its normalizer is NFKC, which is not implemented"));
    EXPECT_THAT(changed("/model/type", "WordPiece"),
                HasSubstr("its model is a WordPiece, which is not implemented"));
    EXPECT_THAT(changed("/model/type", "Unigram"), HasSubstr("its model is a Unigram"));
    EXPECT_THAT(changed("/model/byte_fallback", true), HasSubstr("byte_fallback = true"));
    EXPECT_THAT(changed("/model/dropout", 0.1), HasSubstr("dropout = 0.1"));
    EXPECT_THAT(changed("/model/continuing_subword_prefix", "##"),
                HasSubstr("continuing_subword_prefix = '##'"));
    EXPECT_THAT(changed("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
    EXPECT_THAT(changed("/model/novelty", 1), HasSubstr("its model has novelty"));
    EXPECT_THAT(changed("/novelty", 1), HasSubstr("its content has novelty"));
    EXPECT_THAT(changed("/truncation", {{"max_length", 3}}), HasSubstr("truncation"));
    EXPECT_THAT(changed("/padding", {{"length", 3}}), HasSubstr("padding"));
    EXPECT_THAT(changed("/version", "2.0"), HasSubstr("has version 2.0"));
    EXPECT_THAT(changed("/decoder", {{"type", "Metaspace"}}), HasSubstr("its decoder is a Metaspace"));
    EXPECT_THAT(changed("/post_processor", {{"type", "BertProcessing"}}), HasSubstr("is a BertProcessing"));
    EXPECT_THAT(changed("/pre_tokenizer", {{"type", "Whitespace"}}),
                HasSubstr("its pre_tokenizer is a Whitespace"));
    EXPECT_THAT(changed("/pre_tokenizer", nullptr), HasSubstr("its decoder is a ByteLevel in this position"));
    EXPECT_THAT(changed("/pre_tokenizer",
                        {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Metaspace"}}, no_regex}}}),
                HasSubstr("its pre_tokenizer.pretokenizers[0] has no replacement"));
    EXPECT_THAT(changed("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {no_regex, no_regex}}}),
                HasSubstr("ByteLevel before other steps"));
    EXPECT_THAT(changed("/pre_tokenizer", {{"type", "Sequence"},
                                           {"pretokenizers", {split({{"Regex", "-"}}, "Glued"), no_regex}}}),
                HasSubstr("behavior 'Glued'"));
    auto word = added_token(257, "w");
    word["single_word"] = true;
    EXPECT_THAT(changed("/added_tokens", Json::array({word})),
                HasSubstr("its added_tokens[0] has single_word = true"));
    EXPECT_THAT(changed("/post_processor", {{"type", "TemplateProcessing"}}), HasSubstr("has no single"));
}

TEST_F(TokenizerFile, RefusesWhatIsBrokenOrContradictsItself) {
    const auto good = tokenizer_json({{"a", "b"}});
    const auto changed = [&](const char* position, const Json& value) {
        auto json = good;
        json[Json::json_pointer{position}] = value;
        return mismatch(json);
    };
    EXPECT_EQ("", mismatch(good));
    EXPECT_THAT(changed("/model/vocab/ab", 257),
                HasSubstr("gives 'ab' the id 257, but 257 tokens have ids 0 to 256"));
    EXPECT_THAT(changed("/model/vocab/ab", 65), HasSubstr("gives the id 65 to two tokens"));
    EXPECT_THAT(changed("/model/vocab/ab", -1), HasSubstr("the id -1"));
    EXPECT_THAT(changed("/model/vocab", 3), HasSubstr("vocab that is not an object"));
    EXPECT_THAT(changed("/model/merges/0", "a q\xc3\xbf\xc4\x80"), HasSubstr("which is not in its vocab"));
    EXPECT_THAT(changed("/model/merges/0", "a c"),
                HasSubstr("has a merge with 'ac', which is not in its vocab"));
    EXPECT_THAT(changed("/model/merges/0", "a b c"), HasSubstr("not a pair of tokens"));
    EXPECT_THAT(changed("/model/merges/0", {"a"}), HasSubstr("not a pair of tokens"));
    EXPECT_THAT(changed("/model/merges", "a b"), HasSubstr("merges that are not a list"));
    EXPECT_THAT(changed("/added_tokens", Json::array({added_token(300, "x")})), HasSubstr("gives it 120"));
    EXPECT_THAT(changed("/added_tokens", Json::array({added_token(300, "<x>")})), HasSubstr("gives it 257"));
    EXPECT_THAT(changed("/added_tokens", {added_token(257, "<x>"), added_token(257, "<x>")}),
                HasSubstr("which occurs twice"));
    EXPECT_THAT(changed("/added_tokens", Json::array({added_token(257, "")})), HasSubstr("has no content"));
    EXPECT_THAT(changed("/pre_tokenizer",
                        {{"type", "Sequence"},
                         {"pretokenizers", {split({{"Regex", "(["}}, "Isolated"), Json::object()}}}),
                HasSubstr("has no type"));
    auto json = good;
    json["model"]["vocab"].erase("a");
    json["model"]["vocab"]["zzz"] = 97;
    EXPECT_THAT(mismatch(json), HasSubstr("no token for the byte 0x61 ('a')"));
    EXPECT_THAT(deck_error_of([&] { open_tokenizer(folder_ / "gone.json"); }), HasSubstr("cannot read"));
}

TEST_F(TokenizerFile, NoBytesCrashIt) {
    const auto whole = tokenizer_json({{"a", "b"}}).dump();
    const auto refused = [&](const std::string& bytes) {
        return deck_error_of([&] { open_tokenizer(folder_.write("tokenizer.json", bytes)); });
    };
    EXPECT_THAT(refused(std::string(100'000, '[')), HasSubstr("nested deeper"));
    EXPECT_THAT(refused("{"), HasSubstr("not JSON"));
    EXPECT_THAT(refused("[]"), HasSubstr("is not an object"));
    for (std::size_t bytes = 1; bytes < whole.size(); bytes += 97) {
        EXPECT_NE("", refused(whole.substr(0, bytes)));
    }
    for (std::size_t at = 0; at < whole.size(); at += 13) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x1F);
        refused(damaged);
    }
}

}  // namespace
}  // namespace ziggurat::data
