#include "layout/staging/staging_sizes.hpp"

#include <gtest/gtest.h>

namespace ziggurat::layout {
namespace {

constexpr std::int64_t kib = 1 << 10;
constexpr std::int64_t mib = 1 << 20;

TEST(StagingSizes, OfAWriterAreEightBuffersForEachOfTwoThreads) {
    EXPECT_EQ(writer_staging_bytes(1), 8 * 4 * kib);
    EXPECT_EQ(writer_staging_bytes(5 * kib), 8 * 8 * kib);
    EXPECT_EQ(writer_staging_bytes(64 * mib - 1), 8 * mib);
    EXPECT_EQ(writer_staging_bytes(64 * mib), 16 * mib);
    EXPECT_EQ(writer_staging_bytes(1000 * mib), 16 * mib);
}

TEST(StagingSizes, OfAReaderFollowTheLargestRange) {
    EXPECT_EQ(reader_buffers(1).bytes, 68 * kib);
    EXPECT_EQ(reader_buffers(1).count, 8);
    EXPECT_EQ(reader_buffers(2 * mib).bytes, 2 * mib + 4 * kib);
    EXPECT_EQ(reader_buffers(2 * mib).count, 3);
    EXPECT_EQ(reader_buffers(100 * mib).count, 2);
}

TEST(StagingSizes, OfReadersAreThoseOfTwoThreadsForManyBlocks) {
    const auto largest = 2 * (4 * mib + 4 * kib);
    EXPECT_EQ(reader_staging_bytes(7, 100 * mib), largest);
    EXPECT_EQ(reader_staging_bytes(8, 100 * mib), 2 * largest);
    EXPECT_EQ(reader_staging_bytes(8, 4 * kib), 2 * 8 * 68 * kib);
}

TEST(StagingSizes, OfMessagesAreBoundedForLargeGroups) {
    EXPECT_EQ(MessageStaging::bytes(1), 0);
    EXPECT_EQ(MessageStaging::bytes(2), 2 * 2 * 256 * kib);
    EXPECT_EQ(MessageStaging::bytes(9), 8 * mib);
    EXPECT_EQ(MessageStaging::bytes(513), 2 * 2 * 512 * 4 * kib);
}

}  // namespace
}  // namespace ziggurat::layout
