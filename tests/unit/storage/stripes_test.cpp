#include "storage/stripes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace ziggurat::storage {
namespace {

TEST(Stripes, GiveEachByteAPlaceOfItsOwnWithinTheRoom) {
    const std::vector<std::vector<std::int64_t>> rooms{{1000},       {100, 100}, {30, 100},
                                                       {100, 9, 41}, {0, 100},   {7, 7, 200}};
    for (const auto& room : rooms) {
        for (const std::int64_t bytes : {1, 10, 35, 70}) {
            const Stripes stripes{bytes, room, 7};
            std::set<std::pair<int, std::int64_t>> positions;
            for (std::int64_t offset = 0; offset < bytes; ++offset) {
                const auto position = stripes.at(offset);
                positions.emplace(position.file, position.offset_bytes);
                EXPECT_LT(position.offset_bytes, stripes.bytes_in(position.file));
                EXPECT_LE(stripes.bytes_in(position.file), room[static_cast<std::size_t>(position.file)]);
                EXPECT_GT(position.bytes, 0);
            }
            EXPECT_EQ(std::ssize(positions), bytes);
            std::int64_t in_all = 0;
            for (int file = 0; file < static_cast<int>(room.size()); ++file) {
                in_all += stripes.bytes_in(file);
            }
            EXPECT_EQ(in_all, bytes) << "no file takes more than it holds";
        }
    }
}

TEST(Stripes, TakeTurnsWhileThereIsRoom) {
    const Stripes stripes{60, {100, 20}, 10};

    std::vector<int> files;
    for (std::int64_t offset = 0; offset < 60; offset += 10) {
        files.push_back(stripes.at(offset).file);
    }

    EXPECT_EQ(files, (std::vector<int>{0, 1, 0, 1, 0, 0}));
    EXPECT_EQ(stripes.at(57).offset_bytes, 37);
    EXPECT_EQ(stripes.bytes_in(1), 20);
}

TEST(Stripes, FitInWholeStripesButTheLast) {
    EXPECT_TRUE(Stripes::fits(20, {10, 10}, 10));
    EXPECT_FALSE(Stripes::fits(20, {19, 9}, 10));
    EXPECT_FALSE(Stripes::fits(21, {10, 10}, 10));
    EXPECT_TRUE(Stripes::fits(19, {19, 9}, 10));
    EXPECT_FALSE(Stripes::fits(35, {19, 19}, 10));
    EXPECT_FALSE(Stripes::fits(5, {4, 4}, 10));
    EXPECT_TRUE(Stripes::fits(5, {4, 5}, 10));
}

TEST(Stripes, PutALastOneThatIsCutShortWhereItHasRoom) {
    const std::vector<std::vector<std::int64_t>> rooms{{29, 23}, {23, 29}, {9, 49}, {49, 9}, {20, 20, 9}};
    for (const auto& room : rooms) {
        const Stripes stripes{49, room, 10};
        std::set<std::pair<int, std::int64_t>> positions;
        for (std::int64_t offset = 0; offset < 49; ++offset) {
            const auto position = stripes.at(offset);
            positions.emplace(position.file, position.offset_bytes);
            EXPECT_LE(stripes.bytes_in(position.file), room[static_cast<std::size_t>(position.file)]);
            EXPECT_LT(position.offset_bytes, stripes.bytes_in(position.file));
        }
        EXPECT_EQ(std::ssize(positions), 49);
    }
}

}  // namespace
}  // namespace ziggurat::storage
