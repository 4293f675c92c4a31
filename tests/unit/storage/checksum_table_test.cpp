#include "storage/checksum_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace ziggurat::storage {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, int value) {
    return {size, static_cast<std::byte>(value)};
}

/// Returns the error of check(); empty if the checksums match.
std::string mismatch(const ChecksumTable& records, std::int64_t offset, const std::vector<std::byte>& bytes) {
    try {
        records.check(offset, bytes, "/disk/file", 1'000'000 + offset);
        return {};
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        return error.what();
    }
}

TEST(ChecksumTable, CutAtGivenPlacesAtALengthAndAtStripes) {
    const ChecksumTable records{100, {30, 55, 30}, 20, 50};

    std::vector<std::int64_t> ends;
    for (std::int64_t at = 0; at < 100; at = records.end_of(at)) {
        ends.push_back(records.end_of(at));
        EXPECT_EQ(records.begin_of(ends.back() - 1), at);
    }

    EXPECT_EQ(ends, (std::vector<std::int64_t>{20, 30, 50, 55, 75, 95, 100}));
    EXPECT_EQ(records.count(), 7);
    EXPECT_EQ(records.last_end(0, 40), 30);
    EXPECT_EQ(records.last_end(0, 1000), 100);
    EXPECT_EQ(records.last_end(0, 5), 20);
}

TEST(ChecksumTable, TrustWhatWasWrittenLast) {
    ChecksumTable records{64, {16}, 24};
    records.note_written(0, bytes_of(64, 1));
    records.note_written(16, bytes_of(24, 2));

    EXPECT_EQ(mismatch(records, 0, bytes_of(16, 1)), "");
    EXPECT_EQ(mismatch(records, 16, bytes_of(24, 2)), "");
    EXPECT_EQ(mismatch(records, 40, bytes_of(24, 1)), "");
}

TEST(ChecksumTable, NameFileOffsetAndBothChecksumsOfAChangedByte) {
    ChecksumTable records{64, {16}, 24};
    auto bytes = bytes_of(64, 1);
    records.note_written(0, bytes);
    bytes[45] = std::byte{3};

    const auto text = mismatch(records, 0, bytes);

    EXPECT_NE(text.find("the 24 bytes read at offset 1,000,040 of '/disk/file'"), std::string::npos) << text;
    EXPECT_NE(text.find("that of write 1 was"), std::string::npos) << text;
}

TEST(ChecksumTable, KnowBytesOfTheWriteBefore) {
    ChecksumTable records{64, {}, 64};
    records.note_written(0, bytes_of(64, 1));
    records.note_written(0, bytes_of(64, 2));

    const auto text = mismatch(records, 0, bytes_of(64, 1));

    EXPECT_NE(text.find("they are those of write 1"), std::string::npos) << text;
    EXPECT_NE(text.find("but write 2"), std::string::npos) << text;
}

TEST(ChecksumTable, TakeWhatWasNeverWrittenForZero) {
    const ChecksumTable records{64, {}, 64};

    EXPECT_EQ(mismatch(records, 0, bytes_of(64, 0)), "");
    EXPECT_NE(mismatch(records, 0, bytes_of(64, 1)).find("nothing was written there"), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::storage
