#include "train/preference/partial_scores.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

constexpr std::uint64_t key = 77;
constexpr std::int64_t num_pairs = 6;
constexpr std::size_t header_bytes = 32;
constexpr std::size_t bytes_of_pair = 24;

ReferenceScores all_scores() {
    ReferenceScores scores{num_pairs};
    for (std::int64_t pair = 0; pair < num_pairs; ++pair) {
        scores.set(pair, {-1.5 * static_cast<double>(pair), -1e-3 - static_cast<double>(pair)});
    }
    return scores;
}

/// Records of one, two and three pairs, in an order of their own.
const std::vector<std::vector<std::int64_t>> records{{4}, {0, 5}, {3, 1, 2}};

std::string whole_file() {
    auto bytes = partial_scores_header(key, num_pairs);
    for (const auto& pairs : records) {
        bytes += partial_scores_record(pairs, all_scores());
    }
    return bytes;
}

std::string content_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void expect_same(const ReferenceScores& found, std::int64_t pair) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(found.all()[pair].chosen),
              std::bit_cast<std::uint64_t>(all_scores().all()[pair].chosen));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(found.all()[pair].rejected),
              std::bit_cast<std::uint64_t>(all_scores().all()[pair].rejected));
}

/// Expects exactly the first `whole` records in the scores.
void expect_records(const ReferenceScores& scores, std::size_t whole, const std::string& what) {
    for (std::size_t r = 0; r < records.size(); ++r) {
        for (const auto pair : records[r]) {
            ASSERT_EQ(scores.knows(pair), r < whole) << what << ", pair " << pair;
            if (r < whole) {
                expect_same(scores, pair);
            }
        }
    }
}

TEST(PartialScores, CutAtAnyByteKeepTheRecordsBefore) {
    const auto file = whole_file();
    std::vector<std::size_t> ends{header_bytes};
    for (const auto& pairs : records) {
        ends.push_back(ends.back() + 16 + bytes_of_pair * pairs.size());
    }
    ASSERT_EQ(ends.back(), file.size());
    for (std::size_t bytes = 0; bytes <= file.size(); ++bytes) {
        ReferenceScores scores{num_pairs};
        const auto valid = take_partial_scores(std::string_view{file}.substr(0, bytes), key, scores);
        std::size_t whole = 0;
        while (whole < records.size() && ends[whole + 1] <= bytes) {
            ++whole;
        }
        EXPECT_EQ(valid, bytes < header_bytes ? 0 : static_cast<std::int64_t>(ends[whole])) << bytes;
        expect_records(scores, whole, "cut to " + std::to_string(bytes));
    }
}

TEST(PartialScores, DamagedAtAnyByteKeepTheRecordsBefore) {
    const auto file = whole_file();
    for (std::size_t at = 0; at < file.size(); ++at) {
        auto damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
        ReferenceScores scores{num_pairs};
        take_partial_scores(damaged, key, scores);
        std::size_t whole = 0;
        for (auto end = header_bytes; whole < records.size() && at >= header_bytes; ++whole) {
            end += 16 + bytes_of_pair * records[whole].size();
            if (at < end) {
                break;
            }
        }
        expect_records(scores, whole, "damaged at " + std::to_string(at));
    }
}

TEST(PartialScores, OfAnotherPassAreNotTaken) {
    ReferenceScores scores{num_pairs};
    EXPECT_EQ(take_partial_scores(whole_file(), key + 1, scores), 0);
    expect_records(scores, 0, "another key");
    ReferenceScores more{num_pairs + 1};
    EXPECT_EQ(take_partial_scores(whole_file(), key, more), 0);
    // A valid record, but of a pair that the run does not have.
    ReferenceScores of_many{100};
    const std::vector<std::int64_t> pairs{99};
    const auto foreign = partial_scores_header(key, num_pairs) + partial_scores_record(pairs, of_many);
    EXPECT_EQ(take_partial_scores(foreign, key, scores), static_cast<std::int64_t>(header_bytes));
}

TEST(PartialScores, ContinueAfterADamagedEnd) {
    const test::ScratchFolder folder;
    const auto path = folder.file("reference.scores.part");
    const auto file = whole_file();
    std::ofstream{path, std::ios::binary} << file.substr(0, file.size() - 5);
    ReferenceScores scores{num_pairs};
    const auto valid = take_partial_scores(content_of(path), key, scores);
    {
        PartialScores kept{path, valid, key, num_pairs};
        EXPECT_EQ(content_of(path), file.substr(0, valid)) << "the damaged end is removed";
        kept.add(records.back(), all_scores());
        kept.add({}, all_scores());
        EXPECT_EQ(content_of(path), file) << "each record is written at once";
        kept.flush();
    }
    { PartialScores from_scratch{path, 0, key, num_pairs}; }
    EXPECT_EQ(content_of(path), partial_scores_header(key, num_pairs));
}

TEST(PartialScores, AreNotWrittenThroughALink) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("mine")} << "text";
    std::filesystem::create_symlink(folder.file("mine"), folder.file("link"));
    EXPECT_THROW(PartialScores(folder.file("link"), 0, key, num_pairs), Error);
    EXPECT_EQ(content_of(folder.file("mine")), "text");
}

}  // namespace
}  // namespace ziggurat::train
