#include "data/pack/packed_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "data/corpus.hpp"
#include "tests/unit/data/sample_files.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using spec::LongSamples;
using Packing = spec::SamplePacking;
using test::chat_data;
using test::deck_error_of;
using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<test::TestSample> three_samples{
    {{11, 12, 13}, {1, 0, 1}}, {{21, 22, 23, 24, 25}, {0, 0, 1, 1, 1}}, {{31, 32}, {1, 1}}};

TEST(PackedSource, FillsBatchesWithWholeSamplesAndPadding) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    const Corpus corpus{chat_data(folder / "a", 6, Packing::best_fit), 100, 1};
    const auto training = corpus.training();
    Batch batch{2, 6};

    training.fill(batch, 0);

    EXPECT_THAT(batch.tokens, ElementsAre(11, 12, 13, 31, 32, 0, 21, 22, 23, 24, 25, 0));
    EXPECT_THAT(batch.targets, ElementsAre(12, 13, 31, 32, 0, 21, 22, 23, 24, 25, 0, 0));
    EXPECT_THAT(batch.mask, ElementsAre(0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0))
        << "no first token of a sample counts, and no padding";
    EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 0, 3, 3, 5, 0, 0, 0, 0, 0, 5));
    EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 0, 1, 0, 0, 1, 2, 3, 4, 0));
    EXPECT_EQ(batch.num_targets, 5);
    EXPECT_TRUE(training.has_masked_targets());
}

TEST(PackedSource, HasOneSamplePerSequenceWithoutPacking) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    const Corpus corpus{chat_data(folder / "a", 4, Packing::none), 100, 1};
    Batch batch{3, 4};

    corpus.training().fill(batch, 0);

    EXPECT_THAT(batch.tokens, ElementsAre(11, 12, 13, 0, 21, 22, 23, 24, 31, 32, 0, 0));
    EXPECT_THAT(batch.mask, ElementsAre(0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0))
        << "the target of the last token of a sample that was cut is in another sequence";
    EXPECT_EQ(batch.num_targets, 4);
}

TEST(PackedSource, IsOneStreamIfWrapped) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    const Corpus corpus{chat_data(folder / "a", 4, Packing::wrapped), 100, 1};
    Batch batch{2, 4};

    corpus.training().fill(batch, 0);

    EXPECT_THAT(batch.tokens, ElementsAre(11, 12, 13, 21, 22, 23, 24, 25));
    EXPECT_THAT(batch.mask, ElementsAre(0, 1, 0, 0, 1, 1, 1, 0));
    EXPECT_EQ(batch.num_targets, 4) << "counted without data.reset_at_document as well";
}

TEST(PackedSource, CountsSamplesThatAreCutBeforeTheirFirstTarget) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", {{{11, 12, 13}, {1, 0, 1}},
                                       {{21, 22, 23, 24, 25}, {0, 0, 0, 1, 1}},
                                       {{31, 32, 33, 34}, {0, 1, 0, 0}},
                                       {{41, 42, 43, 44}, {1, 0, 0, 1}}});
    const auto layout_of = [&](LongSamples rule, double held_out, std::int64_t seq) {
        auto data = chat_data(folder / "a", seq, Packing::best_fit);
        data.long_samples = rule;
        const std::vector<std::string> paths{folder / "a"};
        return *PackedSource{std::make_shared<ChatSource>(paths, "k"), data, held_out, "k"}.sequences();
    };
    const auto cut = layout_of(LongSamples::cut, 0.25, 3);
    EXPECT_EQ(cut.num_cut, 3);
    EXPECT_EQ(cut.num_samples, 4);
    EXPECT_EQ(cut.num_without_target, 2) << "the first token of a sample never counts";
    EXPECT_EQ(cut.num_held_out_samples, 1);
    EXPECT_EQ(cut.num_held_out_without_target, 1);
    EXPECT_EQ(layout_of(LongSamples::drop, 0, 3).num_without_target, 0);
    EXPECT_EQ(layout_of(LongSamples::cut, 0, 5).num_without_target, 0);
}

TEST(PackedSource, HoldsTheLastSamplesOut) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    auto data = chat_data(folder / "a", 6, Packing::best_fit);
    data.held_out = 0.4;
    const Corpus corpus{data, 100, 1};
    const auto validation = corpus.validation(0);
    ASSERT_EQ(validation.num_samples(), 1);
    Batch batch{1, 6};
    validation.fill(batch, 0);
    EXPECT_THAT(batch.tokens, ElementsAre(31, 32, 0, 0, 0, 0));
    EXPECT_THAT(batch.mask, ElementsAre(1, 0, 0, 0, 0, 0));
    const auto order = corpus.order(1);
    EXPECT_TRUE(order.sources.front().is_packed);
    EXPECT_EQ(order.sources.front().trained, 2 * 6 + 1);
    for (std::int64_t sample = 0; sample < 8; ++sample) {
        corpus.training().fill(batch, sample);
        EXPECT_NE(batch.tokens.front(), 31);
    }
}

/// Reads all training sequences of an epoch and compares what counts with the samples.
TEST(PackedSource, CountsEachTargetOnceInAnEpoch) {
    std::mt19937 random{5};
    std::vector<test::TestSample> samples(200);
    std::int64_t counted = 0;
    std::int32_t next = 1;
    for (auto& sample : samples) {
        sample.ids.resize(2 + random() % 30);
        std::iota(sample.ids.begin(), sample.ids.end(), next);
        next += static_cast<std::int32_t>(sample.ids.size());
        for (std::size_t i = 0; i < sample.ids.size(); ++i) {
            sample.counts.push_back(random() % 2);
            counted += i > 0 ? sample.counts.back() : 0;
        }
    }
    const ScratchFolder folder;
    test::write_samples(folder / "a", samples);
    for (const bool is_shuffled : {false, true}) {
        auto data = chat_data(folder / "a", 40, Packing::best_fit);
        data.shuffle = is_shuffled;
        const Corpus corpus{data, 1 << 20, 7};
        const auto training = corpus.training();
        const auto sequences = (corpus.num_training_tokens() - 1) / 40;
        ASSERT_GT(sequences, 64) << "orders of so many windows are shifted if they are not packed";
        std::vector<int> seen(next, 0);
        std::int64_t targets = 0;
        Batch batch{1, 40};
        for (std::int64_t sample = 0; sample < sequences; ++sample) {
            training.fill(batch, sample);
            targets += batch.num_targets;
            for (std::size_t i = 0; i < 40; ++i) {
                if (batch.mask[i] != 0) {
                    ++seen[batch.targets[i]];
                    EXPECT_EQ(batch.targets[i], batch.tokens[i] + 1) << "a target across samples";
                }
            }
        }
        EXPECT_EQ(targets, counted);
        EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), counted);
        EXPECT_LE(*std::ranges::max_element(seen), 1);
    }
}

TEST(PackedSource, ReadsAnyRangeAsItReadsTheWhole) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    const auto data = chat_data(folder / "a", 6, Packing::best_fit);
    const PackedSource source{std::make_shared<ChatSource>(std::vector{folder / "a"}, "key"), data, 0, "key"};
    ASSERT_EQ(source.num_tokens(), 13);
    std::vector<std::int32_t> all(13);
    std::vector<std::uint8_t> all_starts(13), all_counts(13);
    source.read(0, all);
    source.mark_document_starts(0, all_starts);
    source.mark_counted(0, all_counts);
    EXPECT_THAT(all_starts, ElementsAre(1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1));
    for (std::int64_t begin = 0; begin < 13; ++begin) {
        for (std::int64_t length = 1; begin + length <= 13; ++length) {
            std::vector<std::int32_t> ids(length);
            std::vector<std::uint8_t> flags(length);
            source.read(begin, ids);
            EXPECT_TRUE(std::equal(ids.begin(), ids.end(), all.begin() + begin));
            source.mark_document_starts(begin, flags);
            EXPECT_TRUE(std::equal(flags.begin(), flags.end(), all_starts.begin() + begin));
            source.mark_counted(begin, flags);
            EXPECT_TRUE(std::equal(flags.begin(), flags.end(), all_counts.begin() + begin));
        }
    }
    EXPECT_EQ(source.sequences()->num_filled, 10);
    EXPECT_EQ(source.location_of(5), "padding");
}

TEST(PackedSource, RejectsLongSamplesIfAsked) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    auto data = chat_data(folder / "a", 4, Packing::best_fit);
    data.long_samples = LongSamples::refuse;
    EXPECT_THAT(
        deck_error_of([&] { Corpus(data, 100, 1); }),
        HasSubstr("data.train[0].path: a sample has 5 tokens, more than data.seq = 4 (token 0 of sample 1"));
    data.long_samples = LongSamples::drop;
    data.seq = 1;
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }),
                HasSubstr("no sample is left (3 of 3 are longer"));
}

TEST(PackedSource, MustBeOfTheTokenizerOfTheDeck) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples, 0xabc);
    auto data = chat_data(folder / "a", 6, Packing::best_fit);
    data.tokenizer = {spec::TokenizerKind::hf, "tokenizer.json", "xxh3:0000000000000abc"};
    EXPECT_NO_THROW(Corpus(data, 100, 1));
    data.tokenizer.hash = "xxh3:0000000000000abd";
    EXPECT_THAT(deck_error_of([&] { Corpus(data, 100, 1); }), HasSubstr("token ids of another tokenizer"));
}

}  // namespace
}  // namespace ziggurat::data
