/// SmallVector keeps its elements inside of the object, and on the heap above its inline capacity.
#include "base/small_vector.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace ziggurat {
namespace {

using List = SmallVector<int, 2>;

List list_of(int size) {
    std::vector<int> elements(static_cast<std::size_t>(size));
    std::iota(elements.begin(), elements.end(), 1);
    return List(elements.begin(), elements.end());
}

bool lies_in_itself(const List& list) {
    const auto* data = reinterpret_cast<const char*>(list.data());
    const auto* self = reinterpret_cast<const char*>(&list);
    return data >= self && data < self + sizeof list;
}

TEST(SmallVector, KeepsFewElementsInItself) {
    EXPECT_TRUE(lies_in_itself(list_of(0)));
    EXPECT_TRUE(lies_in_itself(list_of(2)));
    EXPECT_FALSE(lies_in_itself(list_of(3)));
}

TEST(SmallVector, KeepsItsElementsWhileItGrows) {
    List list;
    for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(list.size(), static_cast<std::size_t>(i));
        list.push_back(i);
        EXPECT_EQ(list.front(), 0);
        EXPECT_EQ(list.back(), i);
    }
    EXPECT_EQ(list, (List{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(list.at(8), 8);
    EXPECT_THROW(list.at(9), std::out_of_range);
}

TEST(SmallVector, IsCopiedAndMovedOverShorterAndLongerOnes) {
    for (int from = 0; from < 6; ++from) {
        for (int to = 0; to < 6; ++to) {
            const auto source = list_of(from);
            auto copied = list_of(to);
            copied = source;
            EXPECT_EQ(copied, source);
            copied.push_back(-1);
            EXPECT_EQ(source, list_of(from)) << "the copy has memory of its own";

            auto given = list_of(from);
            auto moved = list_of(to);
            moved = std::move(given);
            EXPECT_TRUE(given.empty());  // NOLINT(bugprone-use-after-move): empty is what it promises
            EXPECT_EQ(moved, source);
            given = list_of(to);  // a moved-from vector is used again
            EXPECT_EQ(given, list_of(to));
            given.push_back(-1);
            EXPECT_EQ(given.size(), static_cast<std::size_t>(to) + 1);
            EXPECT_EQ(moved, source);
            const List made{std::move(moved)};
            EXPECT_EQ(made, source);
        }
    }
}

TEST(SmallVector, IsShortenedAndComparedByItsElements) {
    auto list = list_of(5);
    list.shorten(1);
    EXPECT_EQ(list, list_of(1)) << "whatever room it has";
    EXPECT_NE(list, list_of(2));
    EXPECT_NE(list, (List{7}));
    list.clear();
    EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace ziggurat
