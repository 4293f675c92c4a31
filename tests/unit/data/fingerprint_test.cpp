#include "data/fingerprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "data/corpus.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::ScratchFolder;
using ::testing::ElementsAre;

constexpr std::int64_t mebibyte = 1 << 20;

std::uint64_t hash_of(const std::string& bytes, std::int64_t max) {
    return sampled_hash(std::as_bytes(std::span{bytes.data(), bytes.size()}), max);
}

spec::Data data_of(const std::string& train, const std::string& validation = "") {
    spec::Data data;
    data.seq = 4;
    data.train = {{.path = train}};
    if (!validation.empty()) {
        data.validation = {{.path = validation}};
    }
    return data;
}

TEST(Fingerprint, EveryByteOfASmallFileCounts) {
    const std::string text(5000, 'x');
    const auto max = bytes_to_hash(1);
    for (std::size_t byte = 0; byte < text.size(); byte += 7) {
        std::string other = text;
        other[byte] = 'y';
        EXPECT_NE(hash_of(text, max), hash_of(other, max)) << byte;
    }
}

TEST(Fingerprint, OfALargeFileTheEndsAndSomeBlocksBetweenCount) {
    const std::int64_t max = 16 * (mebibyte / 16);
    const std::string text(static_cast<std::size_t>(3 * mebibyte + 12345), 'x');
    const auto changed_at = [&](std::int64_t byte) {
        std::string other = text;
        other[static_cast<std::size_t>(byte)] = 'y';
        return hash_of(text, max) != hash_of(other, max);
    };
    const std::int64_t last = std::ssize(text) - 1;
    EXPECT_TRUE(changed_at(0));
    EXPECT_TRUE(changed_at(65'535));
    EXPECT_TRUE(changed_at(last));
    EXPECT_TRUE(changed_at(last - 65'535));
    EXPECT_FALSE(changed_at(65'536));
    int seen = 0;
    for (std::int64_t byte = 0; byte <= last; byte += 32'768) {
        seen += changed_at(byte) ? 1 : 0;
    }
    EXPECT_NEAR(seen, 32, 4);  // 16 blocks of 64 KiB
}

TEST(Fingerprint, ReadsAboutAGibibyteOfAnyNumberOfFiles) {
    EXPECT_EQ(64 * mebibyte, bytes_to_hash(1));
    EXPECT_EQ(64 * mebibyte, bytes_to_hash(16));
    EXPECT_EQ(mebibyte, bytes_to_hash(1024));
    EXPECT_EQ(mebibyte / 8, bytes_to_hash(1'000'000));
}

TEST(Fingerprint, NamesEveryFileOfACorpusWithItsPlaceInTheDeck) {
    const ScratchFolder folder;
    folder.write("a.txt", "training text one");
    folder.write("b.txt", "training text of two");
    const Corpus corpus{data_of(folder / "*.txt", folder / "b.txt"), 256, 1};
    const auto made = fingerprints(corpus.files());

    ASSERT_EQ(3U, made.size());
    EXPECT_EQ("data.train[0].path", made[0].key);
    EXPECT_EQ(folder / "a.txt", made[0].path);
    EXPECT_EQ(17, made[0].bytes);
    EXPECT_EQ(17, made[0].hashed_bytes);
    EXPECT_EQ("data.validation[0].path", made[2].key);
    EXPECT_EQ(made[1].hash, made[2].hash);
    EXPECT_NE(made[0].hash, made[1].hash);
}

TEST(Fingerprint, AnIndexIsHashedWhole) {
    const ScratchFolder folder;
    folder.write("set.bin", std::string(800'000, 'x'));
    const std::vector<std::vector<std::int32_t>> documents(100'000, {8});
    const auto index = folder.write("set.idx", test::megatron_index(1, 1, documents));
    spec::Data data = data_of(folder / "set");
    data.train[0].format = spec::TokenFormat::megatron;
    const Corpus corpus{data, 256, 1};
    const auto files = corpus.files();

    const auto of_many = fingerprint(files[1], 1'000'000);
    EXPECT_EQ(index, of_many.path);
    EXPECT_GT(of_many.bytes, bytes_to_hash(1'000'000));
    EXPECT_EQ(of_many.bytes, of_many.hashed_bytes);
    EXPECT_EQ(bytes_to_hash(1'000'000), fingerprint(files[0], 1'000'000).hashed_bytes);
}

TEST(Fingerprint, ChangesAreMatchedByKeyAndPath) {
    const std::vector<FileFingerprint> before{{"k0", "same", 5, 5, 1},
                                              {"k0", "rewritten", 6, 6, 2},
                                              {"k1", "cut", 9, 9, 3},
                                              {"k1", "gone", 7, 7, 4}};
    const std::vector<FileFingerprint> after{{"k0", "same", 5, 5, 1},
                                             {"k0", "rewritten", 6, 6, 9},
                                             {"k1", "new", 7, 7, 4},
                                             {"k1", "cut", 8, 8, 3}};
    EXPECT_THAT(changes(before, after),
                ElementsAre(FileChange{"k0", "rewritten", 6, 6}, FileChange{"k1", "new", -1, 7},
                            FileChange{"k1", "cut", 9, 8}, FileChange{"k1", "gone", 7, -1}));
    const std::vector<FileFingerprint> sampled_otherwise{{"k0", "same", 5, 2, 7}};
    EXPECT_TRUE(changes(std::vector{before[0]}, sampled_otherwise).empty());
}

}  // namespace
}  // namespace ziggurat::data
