#include "data/batch_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Tokens in memory, with documents at given offsets if there are any.
class MemorySource final : public TokenSource {
  public:
    explicit MemorySource(std::vector<std::int32_t> tokens, std::vector<std::uint8_t> starts = {})
        : tokens_{std::move(tokens)}, starts_{std::move(starts)} {}

    std::int64_t num_tokens() const override { return std::ssize(tokens_); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override {
        std::copy_n(tokens_.begin() + begin, out.size(), out.begin());
    }
    bool has_document_index() const override { return !starts_.empty(); }
    void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override {
        std::copy_n(starts_.begin() + begin, starts.size(), starts.begin());
    }
    std::string location_of(std::int64_t token) const override { return "position " + std::to_string(token); }

  private:
    std::vector<std::int32_t> tokens_;
    std::vector<std::uint8_t> starts_;
};

BatchSource sequential(const MemorySource& source,
                       std::int64_t seq,
                       DocumentRule rule,
                       std::int64_t vocab = 100) {
    std::vector<SourcePart> parts{{.source = 0, .begin = 0, .end = source.num_tokens()}};
    return {{{std::make_shared<MemorySource>(source), "data.train[0].path"}},
            std::make_unique<SequentialOrder>(std::move(parts), seq, 0),
            rule,
            vocab};
}

TEST(BatchSource, FillsTokensTargetsAndPositions) {
    const auto batches = sequential(MemorySource{{10, 11, 12, 13, 14, 15, 16}}, 3, {});
    Batch batch{2, 3};

    batches.fill(batch, 0);

    EXPECT_THAT(batch.tokens, ElementsAre(10, 11, 12, 13, 14, 15));
    EXPECT_THAT(batch.targets, ElementsAre(11, 12, 13, 14, 15, 16));
    EXPECT_THAT(batch.mask, ElementsAre(1, 1, 1, 1, 1, 1));
    EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 0, 0, 0, 0));
    EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 0, 1, 2));
    EXPECT_THAT(batch.samples, ElementsAre(0, 1));
    EXPECT_EQ(6, batch.num_targets);
}

TEST(BatchSource, MasksRowsBeyondTheEndAndForgetsThemWhenRefilled) {
    const auto batches = sequential(MemorySource{{10, 11, 12, 13, 14, 15, 16}}, 3, {});
    Batch batch{2, 3};

    batches.fill(batch, 1);

    EXPECT_THAT(batch.tokens, ElementsAre(13, 14, 15, 0, 0, 0));
    EXPECT_THAT(batch.mask, ElementsAre(1, 1, 1, 0, 0, 0));
    EXPECT_THAT(batch.samples, ElementsAre(1, -1));
    EXPECT_EQ(3, batch.num_targets);

    batches.fill(batch, 0);

    EXPECT_EQ(6, batch.num_targets);
}

TEST(BatchSource, StartTokensBeginDocumentsAndStayTargets) {
    // 99 begins documents. The window begins in the middle of a document.
    const auto batches = sequential(MemorySource{{10, 11, 99, 13, 14, 99, 99, 17, 99}}, 8, {true, 99});
    Batch batch{1, 8};

    batches.fill(batch, 0);

    EXPECT_THAT(batch.tokens, ElementsAre(10, 11, 99, 13, 14, 99, 99, 17));
    EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 2, 2, 2, 5, 6, 6));
    EXPECT_THAT(batch.positions, ElementsAre(0, 1, 0, 1, 2, 0, 0, 1));
    EXPECT_THAT(batch.mask, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
}

TEST(BatchSource, AnIndexBeginsDocumentsAndMasksTargetsAcrossThem) {
    const MemorySource source{{10, 11, 50, 13, 14, 50, 16, 17, 50, 19, 20, 50, 22},
                              {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1}};
    const auto batches = sequential(source, 4, {true, 50});
    Batch batch{3, 4};

    batches.fill(batch, 0);

    EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 0, 3, 0, 0, 2, 2, 0, 1, 1, 1));
    EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 0, 0, 1, 0, 1, 0, 0, 1, 2));
    EXPECT_THAT(batch.mask, ElementsAre(1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0));
    EXPECT_EQ(8, batch.num_targets);
}

TEST(BatchSource, WithoutResetDocumentsDoNotMatter) {
    const MemorySource source{{10, 99, 50, 13, 14}, {1, 0, 0, 1, 0}};
    const auto batches = sequential(source, 4, {false, 99});
    Batch batch{1, 4};

    batches.fill(batch, 0);

    EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(batch.mask, ElementsAre(1, 1, 1, 1));
}

/// Tokens of a program that form pairs at given tokens, without a layout of sequences.
class PairedTokens final : public TokenSource {
  public:
    std::int64_t num_tokens() const override { return 17; }
    void read(std::int64_t /*begin*/, std::span<std::int32_t> out) const override {
        std::ranges::fill(out, 1);
    }
    std::int64_t num_pairs() const override { return 3; }
    std::size_t find_pairs(std::int64_t begin,
                           std::int64_t length,
                           std::span<AnswerPair> pairs) const override {
        std::size_t found = 0;
        for (const auto& pair : {AnswerPair{2, 0, 2, 4}, AnswerPair{0, 4, 6, 8}, AnswerPair{1, 9, 11, 13}}) {
            if (pair.chosen >= begin && pair.end <= begin + length) {
                pairs[found++] = pair;
            }
        }
        return found;
    }
    std::string location_of(std::int64_t /*token*/) const override { return ""; }
};

TEST(BatchSource, ListsThePairsOfAllRowsWithNumbersOverAllSources) {
    std::vector<SourcePart> parts{{.source = 1, .begin = 0, .end = 17}};
    const BatchSource batches{{{std::make_shared<PairedTokens>(), "data.train[0].path"},
                               {std::make_shared<PairedTokens>(), "data.train[1].path", "", 3}},
                              std::make_unique<SequentialOrder>(std::move(parts), 8, 0),
                              {},
                              100};
    Batch batch{2, 8};
    const auto* room = batch.pairs.data();
    const auto* numbers = batch.pair_numbers.data();
    EXPECT_GE(batch.pairs.capacity(), 4U);

    batches.fill(batch, 0);

    EXPECT_THAT(batch.pairs, ElementsAre(RowsOfPair{0, 2, 4}, RowsOfPair{4, 6, 8}, RowsOfPair{9, 11, 13}));
    EXPECT_THAT(batch.pair_numbers, ElementsAre(5, 3, 4));

    batches.fill(batch, 1);

    EXPECT_THAT(batch.pairs, ElementsAre(RowsOfPair{1, 3, 5}));
    EXPECT_THAT(batch.pair_numbers, ElementsAre(4));
    EXPECT_EQ(batch.pairs.data(), room) << "the batch allocated its room once";
    EXPECT_EQ(batch.pair_numbers.data(), numbers);
}

TEST(BatchSource, RefusesATokenOutsideTheVocabularyEvenAsTheLastTarget) {
    const auto message = [](std::vector<std::int32_t> tokens) {
        const auto batches = sequential(MemorySource{std::move(tokens)}, 4, {}, 100);
        Batch batch{1, 4};
        return deck_error_of([&] { batches.fill(batch, 0); });
    };

    EXPECT_EQ("", message({0, 1, 2, 3, 99}));
    EXPECT_THAT(message({0, 1, 2, 3, 100}), HasSubstr("data.train[0].path: token 100 at position 4"));
    EXPECT_THAT(message({0, -3, 2, 3, 4}), HasSubstr("token -3 at position 1"));
}

}  // namespace
}  // namespace ziggurat::data
