/// data.tokenizer: values taken from the tokenizer's file, and rejected files.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using ::testing::HasSubstr;

constexpr const char* known_hash = "xxh3:0123456789abcdef";

class TokenizerDeck : public TinyDeck {
  protected:
    TokenizerDeck() {
        options_.needs_data = false;
        options_.read_tokenizer = [this](const spec::Tokenizer& tokenizer) {
            asked_.push_back(tokenizer);
            if (tokenizer.path == "/dev/zero") {
                throw Error{ErrorKind::deck, "it is no JSON. Name another."};
            }
            return TokenizerFacts{.vocab = 300, .hash = known_hash};
        };
    }

    /// Loads a deck; /dev/null is a file that exists.
    LoadedDeck load_with(std::vector<std::string> overrides, const std::string& path = "/dev/null") {
        overrides.insert(overrides.begin(), "data.tokenizer={kind: hf, path: " + path + "}");
        overrides.push_back("data.train=[{format: llmc, path: tokens.bin}]");
        return load(without_gpus, overrides);
    }

    std::vector<spec::Tokenizer> asked_;
};

TEST_F(TokenizerDeck, GivesTheVocabularyAndItsHash) {
    const auto loaded = load_with({});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.model.vocab, 300);
    EXPECT_EQ(loaded.run.data.tokenizer,
              (spec::Tokenizer{.kind = spec::TokenizerKind::hf, .path = "/dev/null", .hash = known_hash}));
    EXPECT_THAT(loaded.effective, HasSubstr(known_hash));
}

TEST_F(TokenizerDeck, IsReadBackFromTheEffectiveDeckWithoutTheFile) {
    const auto loaded = load_with({});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    LoadOptions record{.ranks = 1, .machine = without_gpus, .as_record = true};
    const auto again = load_text(loaded.effective, "effective", {}, record);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run.data.tokenizer, loaded.run.data.tokenizer);
    EXPECT_EQ(again.run.model.vocab, 300);
    EXPECT_EQ(asked_.size(), 1U) << "a record asks no file";
}

TEST_F(TokenizerDeck, IsAskedWithTheHashThatTheDeckHas) {
    const auto loaded = load_with({"data.tokenizer.hash=xxh3:00"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(asked_.size(), 1U);
    EXPECT_EQ(asked_[0].hash, "xxh3:00");
    EXPECT_EQ(loaded.run.data.tokenizer.hash, "xxh3:00");
}

TEST_F(TokenizerDeck, NeedsRowsForAllItsTokens) {
    EXPECT_TRUE(load_with({"model.vocab=300"}).ok());
    EXPECT_TRUE(load_with({"model.vocab=384"}).ok());
    const auto loaded = load_with({"model.vocab=299"});
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("the tokens of data.tokenizer are 0 to 299"));
}

TEST_F(TokenizerDeck, IsThatOfThePublishedModelWhereNothingElseIsSaid) {
    const auto loaded =
        load(without_gpus, {"data.tokenizer=hf", "model.init={from: hf, path: gone}", "model.vocab=300",
                            "data.train=[{format: llmc, path: tokens.bin}]"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.data.tokenizer.path, "gone");
}

TEST_F(TokenizerDeck, NeedsAPath) {
    const auto loaded =
        load(without_gpus, {"data.tokenizer=hf", "data.train=[{format: llmc, path: tokens.bin}]"});
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("missing key 'data.tokenizer.path'"));
    EXPECT_EQ(loaded.found.errors(), 1) << "the vocabulary would follow from it: " << loaded.found.print();
}

TEST_F(TokenizerDeck, SaysWhatIsWrongWithItsFile) {
    const auto loaded = load_with({}, "/dev/zero");
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("cannot use '/dev/zero' as a tokenizer"));
    EXPECT_THAT(loaded.found.print(), HasSubstr("it is no JSON"));
}

TEST_F(TokenizerDeck, MayBeElsewhereForAPlanThatSaysTheVocabulary) {
    EXPECT_TRUE(load_with({"model.vocab=300"}, "/gone/tokenizer.json").ok());
    const auto loaded = load_with({}, "/gone/tokenizer.json");
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("the tokenizer's file is not available"));
    EXPECT_TRUE(asked_.empty());
    options_.needs_data = true;
    load_with({"model.vocab=300"}, "/gone/tokenizer.json");
    EXPECT_EQ(asked_.size(), 1U) << "who opens it says that it is gone";
}

TEST_F(TokenizerDeck, NamesTheCommandThatMakesTokensOfText) {
    const auto loaded = load(without_gpus, {"data.tokenizer={kind: hf, path: /dev/null}"});
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("--tokenizer /dev/null --out NAME --format llmc"));
}

TEST_F(TokenizerDeck, WarnsOfAPathThatNothingReads) {
    const auto loaded = load(without_gpus, {"data.tokenizer={kind: bytes, path: /dev/null}"});
    EXPECT_THAT(loaded.found.print(), HasSubstr("data.tokenizer.path"));
    EXPECT_GE(loaded.found.warnings(), 1);
}

}  // namespace
}  // namespace ziggurat::deck
