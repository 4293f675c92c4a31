#include "data/corpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns the bytes 0, 1, 2, ... modulo 200.
std::string counting(int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) {
        text += static_cast<char>(i % 200);
    }
    return text;
}

spec::Source text(const std::string& path, double weight = 1) {
    spec::Source source;
    source.path = path;
    source.weight = weight;
    return source;
}

spec::Data data_of(std::vector<spec::Source> train, std::int64_t seq) {
    spec::Data data;
    data.seq = seq;
    data.train = std::move(train);
    return data;
}

TEST(Corpus, ChangesWeightsAtTheSamplesOfTheirSteps) {
    const ScratchFolder folder;
    auto data =
        data_of({text(folder.write("a", counting(100)), 0.7), text(folder.write("b", counting(50)))}, 4);
    data.train[0].weight_changes = {{10, 0.2}, {std::int64_t{1} << 62, 1}};

    const auto order = Corpus{data, 256, 1}.order(24);

    EXPECT_EQ(0.7, order.sources[0].weight);
    EXPECT_EQ((std::vector<DataOrderState::Change>{{240, 0.2}}), order.sources[0].changes)
        << "a step that no run reaches is left out";
    EXPECT_TRUE(order.sources[1].changes.empty());
}

TEST(Corpus, HoldsTheEndOfEachTrainingSourceOut) {
    const ScratchFolder folder;
    auto data = data_of({text(folder.write("a", counting(100))), text(folder.write("b", counting(50)))}, 4);
    data.validation = {text(folder.write("v", counting(9)))};
    data.held_out = 0.2;

    const Corpus corpus{data, 256, 1};
    const auto training = corpus.training();
    const auto validation = corpus.validation(0);

    EXPECT_EQ(120, corpus.num_training_tokens());
    EXPECT_EQ(9 + 20 + 10, corpus.num_validation_tokens());
    EXPECT_EQ(2 + 4 + 2, validation.num_samples());
    Batch batch{8, 4};
    validation.fill(batch, 0);
    EXPECT_EQ(0, batch.tokens[0]) << "validation sources come first";
    EXPECT_EQ(80, batch.tokens[2 * 4]) << "then the last fifth of the first training source";
    EXPECT_EQ(40, batch.tokens[6 * 4]);
    for (std::int64_t sample = 0; sample < 400; sample += 8) {
        training.fill(batch, sample);
        for (const auto target : batch.targets) {
            ASSERT_LT(target, 80) << "a held-out token was trained on";
        }
    }
}

TEST(Corpus, EncodesTextWhereTheTokenizerIsAFile) {
    const ScratchFolder folder;
    auto json = test::tokenizer_json({{"a", "b"}});
    json["added_tokens"].push_back(test::added_token(257, "<|endoftext|>"));
    auto data = data_of({}, 3);
    data.tokenizer = {spec::TokenizerKind::hf, folder.write("tokenizer.json", json.dump()), ""};
    folder.write("1.txt", "abcab");
    data.validation = {text(folder.write("2.txt", "x"))};
    data.validation[0].path = folder / "?.txt";

    const Corpus corpus{data, 258, 1};

    EXPECT_EQ(corpus.num_validation_tokens(), 6) << "a document token before each file";
    Batch batch{1, 3};
    corpus.validation(0).fill(batch, 0);
    EXPECT_THAT(batch.tokens, ElementsAre(257, 256, 'c'));
    EXPECT_THAT(batch.targets, ElementsAre(256, 'c', 256));
    EXPECT_EQ(corpus.files().size(), 2U);
    EXPECT_THAT(deck_error_of([&] { Corpus{data, 256, 1}.check_tokens(); }), HasSubstr("1.txt', token 0"));

    folder.write("1.txt", "ab\xff");
    EXPECT_THAT(
        deck_error_of([&] {
            Corpus{data, 258, 1};
        }),
        ::testing::AllOf(HasSubstr("data.validation[0].path"), HasSubstr("1.txt"), HasSubstr("not UTF-8")));
}

TEST(Corpus, BatchesDependOnTheSampleIndexAlone) {
    const ScratchFolder folder;
    const auto data =
        data_of({text(folder.write("a", counting(997)), 2), text(folder.write("b", counting(333)))}, 7);
    const Corpus corpus{data, 256, 99};
    const Corpus resumed{data, 256, 99};
    const auto batches = corpus.training();
    const auto later = resumed.training();
    Batch large{12, 7};
    Batch small{4, 7};
    batches.fill(large, 600);

    for (std::int64_t part = 2; part >= 0; --part) {
        later.fill(small, 600 + 4 * part);
        for (std::int64_t i = 0; i < 28; ++i) {
            const auto at = static_cast<std::size_t>(i);
            ASSERT_EQ(large.tokens[static_cast<std::size_t>(28 * part) + at], small.tokens[at]);
        }
        EXPECT_THAT(small.samples,
                    ElementsAre(600 + 4 * part, 601 + 4 * part, 602 + 4 * part, 603 + 4 * part));
    }

    const Corpus other_seed{data, 256, 100};
    Batch other{12, 7};
    other_seed.training().fill(other, 600);
    EXPECT_NE(large.tokens, other.tokens);
}

TEST(Corpus, ValidationMayBeLimitedOrAbsent) {
    const ScratchFolder folder;
    auto data = data_of({text(folder.write("a", counting(100)))}, 4);
    EXPECT_EQ(0, (Corpus{data, 256, 1}.validation(0).num_samples()));

    data.held_out = 0.5;
    EXPECT_EQ(12, (Corpus{data, 256, 1}.validation(0).num_samples()));
    EXPECT_EQ(5, (Corpus{data, 256, 1}.validation(5).num_samples()));
}

TEST(Corpus, ComplainsWithTheKeyOfTheSource) {
    const ScratchFolder folder;
    const auto good = text(folder.write("a", counting(100)));
    const auto message = [&](spec::Data data) { return deck_error_of([&] { Corpus{data, 256, 1}; }); };
    auto short_validation = data_of({good}, 8);
    short_validation.validation = {text(folder.write("short", counting(8)))};
    auto little_held_out = data_of({good}, 8);
    little_held_out.held_out = 0.05;

    EXPECT_EQ("", message(data_of({good}, 99)));
    EXPECT_THAT(
        message(data_of({good}, 100)),
        HasSubstr("data.train[0].path: 100 tokens for training are too few (a sequence of data.seq = 100 "
                  "needs 101)"));
    EXPECT_THAT(message(data_of({good, text(folder / "none")}, 8)),
                HasSubstr("data.train[1].path: cannot read '" + (folder / "none") + "'"));
    EXPECT_THAT(message(short_validation),
                HasSubstr("data.validation[0].path: 8 tokens for validation are too few"));
    EXPECT_THAT(message(little_held_out), HasSubstr("5 tokens for validation (data.held_out) are too few"));
}

TEST(Corpus, ChecksTokensOfAllSourcesAtStart) {
    const ScratchFolder folder;
    const auto good = text(folder.write("a", counting(100)));
    const auto large = text(folder.write("b", counting(300)));

    EXPECT_EQ("", deck_error_of([&] { Corpus{data_of({good, large}, 8), 200, 1}.check_tokens(); }));
    EXPECT_EQ("", deck_error_of([&] { Corpus{data_of({good, large}, 8), 150, 1}.check_tokens(150); }));
    EXPECT_THAT(deck_error_of([&] {
                    Corpus{data_of({good, large}, 8), 150, 1}.check_tokens();
                }),
                HasSubstr("data.train[1].path: token 199 at position 199"));
}

/// Tokens without a file: consecutive numbers from a start value.
class Counting final : public TokenSource {
  public:
    explicit Counting(std::int32_t first) : first_{first} {}
    std::int64_t num_tokens() const override { return 100; }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override {
        for (auto& token : out) {
            token = first_ + static_cast<std::int32_t>(begin++);
        }
    }
    std::string location_of(std::int64_t token) const override { return "count " + std::to_string(token); }

  private:
    std::int32_t first_;
};

spec::Source own(const std::string& name) {
    return {.format = spec::TokenFormat::own, .path = name};
}

std::unique_ptr<TokenSource> open_counting(const spec::Source& source, const std::string& /*key*/) {
    return std::make_unique<Counting>(std::stoi(source.path));
}

TEST(Corpus, TakesTokensThatAProgramBrings) {
    auto data = data_of({own("0")}, 4);
    data.validation = {own("50")};
    data.shuffle = false;

    const Corpus corpus{data, 200, 1, open_counting};
    Batch batch{1, 4};
    corpus.training().fill(batch, 3);

    EXPECT_EQ(100, corpus.num_training_tokens());
    EXPECT_EQ(12, batch.tokens[0]);
    corpus.validation(0).fill(batch, 2);
    EXPECT_EQ(58, batch.tokens[0]);
    EXPECT_TRUE(corpus.files().empty());
    EXPECT_THAT(deck_error_of([&] {
                    Corpus{data, 120, 1, open_counting}.check_tokens();
                }),
                HasSubstr("data.validation[0].path: token 149 at count 99 is not in the vocabulary"));
}

TEST(Corpus, RefusesTokensThatNobodyBrings) {
    EXPECT_THAT(deck_error_of([&] {
                    Corpus{data_of({own("0")}, 4), 200, 1};
                }),
                HasSubstr("data.train[0].path: format own needs a program"));
}

TEST(Corpus, AsksOwnTokensForDocumentsThatAreToBeToldApart) {
    auto data = data_of({own("0")}, 4);
    data.reset_at_document = true;

    EXPECT_THAT(deck_error_of([&] {
                    Corpus{data, 200, 1, open_counting};
                }),
                HasSubstr("data.train[0].path: documents cannot be separated"));
    data.document_token = 7;
    EXPECT_EQ("", deck_error_of([&] { Corpus{data, 200, 1, open_counting}; }));
}

}  // namespace
}  // namespace ziggurat::data
