#include "data/pack/packing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace ziggurat::data {
namespace {

using spec::LongSamples;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int64_t> random_lengths(std::size_t count, std::int64_t max, unsigned seed) {
    std::mt19937 random{seed};
    std::vector<std::int64_t> lengths(count);
    std::ranges::generate(lengths, [&] { return 2 + static_cast<std::int64_t>(random() % (max - 1)); });
    return lengths;
}

std::int64_t tokens_of(std::span<const std::int64_t> samples, const std::vector<std::int64_t>& lengths) {
    return std::accumulate(samples.begin(), samples.end(), std::int64_t{0},
                           [&](std::int64_t sum, std::int64_t sample) { return sum + lengths[sample]; });
}

/// Number of sequences of best-fit decreasing, by a search through all of them.
std::int64_t best_fit_by_search(std::vector<std::int64_t> lengths, std::int64_t seq) {
    std::ranges::stable_sort(lengths, std::greater{});
    std::vector<std::int64_t> rooms;
    for (const auto length : lengths) {
        auto best = rooms.end();
        for (auto room = rooms.begin(); room != rooms.end(); ++room) {
            best = *room >= length && (best == rooms.end() || *room < *best) ? room : best;
        }
        if (best == rooms.end()) {
            rooms.push_back(seq - length);
        } else {
            *best -= length;
        }
    }
    return std::ssize(rooms);
}

TEST(Packing, HasEachSampleOnceInSequencesThatHoldIt) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::int64_t seq = 10 + 7 * seed;
        const auto lengths = random_lengths(300, seq, seed);
        const auto packed = pack(lengths, seq, spec::SamplePacking::best_fit, LongSamples::refuse);

        std::vector<std::int64_t> all = packed.samples;
        std::ranges::sort(all);
        std::vector<std::int64_t> each(lengths.size());
        std::iota(each.begin(), each.end(), std::int64_t{0});
        EXPECT_EQ(all, each);
        std::int64_t first_before = -1;
        for (std::int64_t s = 0; s < packed.num_sequences(); ++s) {
            const auto samples = packed.samples_of(s);
            ASSERT_FALSE(samples.empty());
            EXPECT_LE(tokens_of(samples, lengths), seq);
            EXPECT_TRUE(std::ranges::is_sorted(samples));
            EXPECT_GT(samples.front(), first_before) << "sequences are numbered by their first sample";
            first_before = samples.front();
        }
        EXPECT_EQ(packed.num_sequences(), best_fit_by_search(lengths, seq));
    }
}

TEST(Packing, FillsNearlyAllRoomOfManyShortSamples) {
    const auto lengths = random_lengths(5000, 400, 3);
    const auto packed = pack(lengths, 1024, spec::SamplePacking::best_fit, LongSamples::refuse);
    const auto tokens = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    EXPECT_GT(tokens / static_cast<double>(packed.num_sequences() * 1024), 0.99);
}

TEST(Packing, PutsEachSampleIntoItsOwnSequenceIfNotAsked) {
    const auto packed =
        pack(std::vector<std::int64_t>{3, 9, 4, 2}, 4, spec::SamplePacking::none, LongSamples::drop);
    EXPECT_THAT(packed.samples, ElementsAre(0, 2, 3));
    EXPECT_THAT(packed.begins, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(packed.num_dropped, 1);
    EXPECT_EQ(packed.num_cut, 0);
}

TEST(Packing, CutsOrDropsLongSamples) {
    const std::vector<std::int64_t> lengths{12, 3, 5, 30};
    const auto cut = pack(lengths, 8, spec::SamplePacking::best_fit, LongSamples::cut);
    EXPECT_EQ(cut.num_cut, 2);
    EXPECT_THAT(cut.samples, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(cut.begins, ElementsAre(0, 1, 3, 4)) << "a cut sample fills its sequence";
    const auto drop = pack(lengths, 8, spec::SamplePacking::best_fit, LongSamples::drop);
    EXPECT_EQ(drop.num_dropped, 2);
    EXPECT_THAT(drop.samples, ElementsAre(1, 2));
    EXPECT_THAT(
        pack(std::vector<std::int64_t>{9}, 8, spec::SamplePacking::best_fit, LongSamples::drop).samples,
        IsEmpty());
}

}  // namespace
}  // namespace ziggurat::data
