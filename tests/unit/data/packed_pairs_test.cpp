#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "data/corpus.hpp"
#include "data/pack/packed_source.hpp"
#include "tests/unit/data/sample_files.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using spec::LongSamples;
using Packing = spec::SamplePacking;
using test::deck_error_of;
using test::ScratchFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

spec::Data pair_data(const std::string& path, std::int64_t seq, Packing packing = Packing::best_fit) {
    auto data = test::chat_data(path, seq, packing);
    data.has_pairs = true;
    data.reset_at_document = true;
    return data;
}

/// Answers of `tokens` tokens, of which the last `counted` ones count.
test::TestSample answer(std::int32_t first, std::int32_t tokens, std::int32_t counted) {
    test::TestSample made{std::vector<std::int32_t>(tokens), std::vector<std::uint8_t>(tokens)};
    std::iota(made.ids.begin(), made.ids.end(), first);
    std::fill(made.counts.end() - counted, made.counts.end(), std::uint8_t{1});
    return made;
}

std::shared_ptr<const PackedSource> pack_pairs(const std::string& path, const spec::Data& data) {
    return std::make_shared<PackedSource>(std::make_shared<ChatSource>(std::vector{path}, "key"), data,
                                          data.held_out, "key");
}

const std::vector<test::TestSample> three_pairs{answer(10, 3, 1), answer(20, 4, 2), answer(30, 2, 1),
                                                answer(40, 6, 1), answer(50, 3, 2), answer(60, 2, 1)};

TEST(PackedPairs, FillBatchesWithBothAnswersInOneSequence) {
    const ScratchFolder folder;
    test::write_pairs(folder / "a", three_pairs);
    const Corpus corpus{pair_data(folder / "a", 12), 100, 1};
    EXPECT_EQ(corpus.num_pairs(), 3);
    Batch batch{2, 12};

    corpus.training().fill(batch, 0);

    EXPECT_THAT(batch.tokens, ElementsAre(10, 11, 12, 20, 21, 22, 23, 50, 51, 52, 60, 61,  //
                                          30, 31, 40, 41, 42, 43, 44, 45, 0, 0, 0, 0));
    EXPECT_THAT(batch.mask, ElementsAre(0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0,  //
                                        1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
    EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 0, 3, 3, 3, 3, 7, 7, 7, 10, 10,  //
                                                   0, 0, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8));
    EXPECT_THAT(batch.pairs, ElementsAre(RowsOfPair{0, 3, 7}, RowsOfPair{7, 10, 12}, RowsOfPair{12, 14, 20}));
    EXPECT_THAT(batch.pair_numbers, ElementsAre(0, 2, 1));
}

TEST(PackedPairs, HaveASequenceEachWithoutPacking) {
    const ScratchFolder folder;
    test::write_pairs(folder / "a", three_pairs);
    const Corpus corpus{pair_data(folder / "a", 8, Packing::none), 100, 1};
    Batch batch{3, 8};

    corpus.training().fill(batch, 0);

    EXPECT_THAT(batch.pairs, ElementsAre(RowsOfPair{0, 3, 7}, RowsOfPair{8, 10, 16}, RowsOfPair{16, 19, 21}));
    EXPECT_THAT(batch.pair_numbers, ElementsAre(0, 1, 2));
    corpus.training().fill(batch, 2);
    EXPECT_EQ(batch.pair_numbers.front(), 2) << "the numbers do not depend on the rows";
}

TEST(PackedPairs, AreNumberedOverAllSources) {
    const ScratchFolder folder;
    test::write_pairs(folder / "a", three_pairs);
    test::write_pairs(folder / "b", {three_pairs.begin(), three_pairs.begin() + 4});
    auto data = pair_data(folder / "a", 8, Packing::none);
    data.train.push_back({.format = spec::TokenFormat::chat, .path = folder / "b"});
    data.validation = {{.format = spec::TokenFormat::chat, .path = folder / "b"}};
    data.held_out = 0.4;
    const Corpus corpus{data, 100, 1};
    EXPECT_EQ(corpus.num_pairs(), 3 + 2 + 2);
    const auto training = corpus.training();
    std::set<std::int64_t> trained;
    Batch batch{1, 8};
    for (std::int64_t sample = 0; sample < 8; ++sample) {
        training.fill(batch, sample);
        trained.insert(batch.pair_numbers.begin(), batch.pair_numbers.end());
    }
    EXPECT_THAT(trained, ElementsAre(0, 1, 3, 4)) << "pair 2 is held out";
    Batch all{3, 8};
    corpus.validation(0).fill(all, 0);
    EXPECT_THAT(all.pair_numbers, ElementsAre(5, 6, 2));
}

TEST(PackedPairs, CutTheLongerAnswerFirst) {
    const ScratchFolder folder;
    test::write_pairs(folder / "a", {answer(10, 4, 2), answer(20, 9, 6), answer(30, 7, 4), answer(40, 3, 1),
                                     answer(50, 6, 3), answer(60, 9, 6), answer(70, 6, 1), answer(80, 6, 6)});
    auto data = pair_data(folder / "a", 9, Packing::none);
    const auto source = pack_pairs(folder / "a", data);
    std::vector<std::int32_t> ids(source->num_tokens());
    source->read(0, ids);
    EXPECT_THAT(ids, ElementsAre(10, 11, 12, 13, 20, 21, 22, 23, 24,  //
                                 30, 31, 32, 33, 34, 35, 40, 41, 42,  //
                                 50, 51, 52, 53, 60, 61, 62, 63, 0, 0))
        << "an answer of the last pair has no counted token left";
    std::vector<AnswerPair> pairs(6);
    ASSERT_EQ(source->find_pairs(0, 27, pairs), 3U);
    EXPECT_EQ(pairs[1], (AnswerPair{1, 9, 15, 18}));
    EXPECT_EQ(pairs[2], (AnswerPair{2, 18, 22, 26}));
    EXPECT_EQ(source->num_pairs(), 4) << "dropped pairs keep their numbers";
    const auto layout = *source->sequences();
    EXPECT_EQ(layout.num_samples, 3);
    EXPECT_EQ(layout.num_cut, 3);
    EXPECT_EQ(layout.num_dropped, 1);
    EXPECT_EQ(layout.num_filled, 9 + 9 + 8);
}

TEST(PackedPairs, AreDroppedOrRefusedByTheLengthOfBothAnswers) {
    const ScratchFolder folder;
    test::write_pairs(folder / "a", three_pairs);
    auto data = pair_data(folder / "a", 7);
    data.long_samples = LongSamples::drop;
    const auto layout = *pack_pairs(folder / "a", data)->sequences();
    EXPECT_EQ(layout.num_samples, 2);
    EXPECT_EQ(layout.num_dropped, 1);
    data.seq = 4;
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }),
                AllOf(HasSubstr("data.train[0].path: no pair of answers is left (3 of 3"),
                      HasSubstr("set data.long_samples: cut")));
    data.long_samples = LongSamples::cut;
    data.seq = 2;
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }), HasSubstr("Increase data.seq."));
    data.seq = 7;
    data.long_samples = LongSamples::refuse;
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }),
                HasSubstr("data.train[0].path: a pair of answers has 8 tokens, more than data.seq = 7 (token "
                          "0 of sample 2"));
}

TEST(PackedPairs, MustHaveCountedTokensInBothAnswers) {
    const ScratchFolder folder;
    test::write_pairs(folder / "a", {answer(10, 200, 199), answer(10, 3, 0)});
    EXPECT_THAT(deck_error_of([&] { pack_pairs(folder / "a", pair_data(folder / "a", 300)); }),
                HasSubstr("key: no token of an answer counts in the loss (token 0 of sample 1 of"));
    auto early = answer(10, 200, 0);
    early.counts[1] = 1;
    test::write_pairs(folder / "b", {early, answer(10, 3, 1)});
    EXPECT_EQ(pack_pairs(folder / "b", pair_data(folder / "b", 300))->sequences()->num_samples, 1);
    auto first = answer(10, 200, 0);
    first.counts[0] = 1;
    test::write_pairs(folder / "c", {first, answer(10, 3, 1)});
    EXPECT_THAT(deck_error_of([&] { pack_pairs(folder / "c", pair_data(folder / "c", 300)); }),
                HasSubstr("sample 0 of"));
}

/// Compares the pairs of any range with a search through all of them.
TEST(PackedPairs, AreFoundInAnyRange) {
    std::mt19937 random{3};
    std::vector<test::TestSample> answers;
    for (std::int32_t i = 0; i < 80; ++i) {
        answers.push_back(answer(100 * i, 2 + static_cast<std::int32_t>(random() % 8), 1));
    }
    const ScratchFolder folder;
    test::write_pairs(folder / "a", answers);
    auto data = pair_data(folder / "a", 20);
    data.held_out = 0.2;
    const auto source = pack_pairs(folder / "a", data);
    std::vector<AnswerPair> all(source->num_tokens() / spec::min_pair_tokens);
    all.resize(source->find_pairs(0, source->num_tokens(), all));
    ASSERT_EQ(all.size(), 40U);
    std::vector<std::int32_t> ids(source->num_tokens());
    source->read(0, ids);
    for (const auto& pair : all) {
        EXPECT_EQ(ids[pair.chosen], 200 * pair.number);
        EXPECT_EQ(ids[pair.rejected], 200 * pair.number + 100);
        EXPECT_EQ(pair.chosen / 20, (pair.end - 1) / 20) << "a pair is in one sequence";
    }
    for (std::int64_t begin = 0; begin < source->num_tokens(); begin += 7) {
        for (std::int64_t length = 4; begin + length <= source->num_tokens(); length += 13) {
            std::vector<AnswerPair> expected;
            std::ranges::copy_if(all, std::back_inserter(expected), [&](const AnswerPair& pair) {
                return pair.chosen >= begin && pair.end <= begin + length;
            });
            std::vector<AnswerPair> found(length / spec::min_pair_tokens);
            found.resize(source->find_pairs(begin, length, found));
            EXPECT_EQ(found, expected);
        }
    }
}

TEST(PackedPairs, AreOfTheKindThatTheObjectiveRequires) {
    const ScratchFolder folder;
    test::write_pairs(folder / "pairs", three_pairs);
    test::write_samples(folder / "chats", three_pairs);
    auto data = pair_data(folder / "chats", 12);
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }),
                AllOf(HasSubstr("data.train[0].path: train.objective.kind dpo or ipo trains on pairs of "
                                "answers, and '"),
                      HasSubstr("chats' holds conversations")));
    data.train[0].path = folder / "pairs";
    data.validation = {{.format = spec::TokenFormat::raw, .path = folder / "chats"}};
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 1 << 30, 1); }),
                AllOf(HasSubstr("data.validation[0].path: train.objective"), HasSubstr("other tokens")));
    data.validation.clear();
    data.has_pairs = false;
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }),
                AllOf(HasSubstr("data.train[0].path: '"), HasSubstr("pairs' holds pairs of answers")));
}

}  // namespace
}  // namespace ziggurat::data
