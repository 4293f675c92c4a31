#include "storage/sparse_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/random/draw.hpp"

namespace ziggurat::storage {
namespace {

TEST(SparseImage, ReadsBackWhatWasWrittenAndZerosElsewhere) {
    test::Draw draw{1};
    SparseImage image;
    std::vector<std::byte> truth(60'000);
    std::int64_t size = 0;
    for (int round = 0; round < 300; ++round) {
        const std::int64_t offset = draw.between(0, 50'000);
        std::vector<std::byte> bytes(static_cast<std::size_t>(draw.between(0, draw.chance(0.1) ? 9000 : 50)));
        for (std::byte& each : bytes) {
            each = static_cast<std::byte>(draw.between(0, 255));
        }
        image.write(offset, bytes);
        std::copy(bytes.begin(), bytes.end(), truth.begin() + offset);
        size = std::max(size, offset + std::ssize(bytes));

        const std::int64_t begin = draw.between(0, 50'000);
        std::vector<std::byte> read(static_cast<std::size_t>(draw.between(0, 9000)));
        image.read(begin, read);
        EXPECT_TRUE(std::equal(read.begin(), read.end(), truth.begin() + begin));
        EXPECT_EQ(image.size_bytes(), size);
    }
}

TEST(SparseImage, FarAwayBytesTakeNoMemoryBetween) {
    SparseImage image;
    const std::byte one{1};
    image.write(std::int64_t{1} << 50, {&one, 1});
    EXPECT_EQ(image.size_bytes(), (std::int64_t{1} << 50) + 1);
    std::vector<std::byte> read(2, std::byte{9});
    image.read((std::int64_t{1} << 50) - 1, read);
    EXPECT_EQ(read, (std::vector<std::byte>{std::byte{0}, one}));
}

}  // namespace
}  // namespace ziggurat::storage
