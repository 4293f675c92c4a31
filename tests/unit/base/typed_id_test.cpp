#include "base/typed_id.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

#include "base/enum_array.hpp"

namespace ziggurat {
namespace {

using FirstId = TypedId<struct FirstIdKind>;
using OtherId = TypedId<struct OtherIdKind>;

template <class Vector, class Index>
concept takes = requires(const Vector& vector, Index index) {
    vector[index];
};

template <class A, class B>
concept can_be_compared = requires(A a, B b) {
    a == b;
};

// The compiler rejects other kinds.
static_assert(!std::is_convertible_v<FirstId, OtherId> && !std::is_constructible_v<OtherId, FirstId>);
static_assert(!can_be_compared<FirstId, OtherId>);
static_assert(!takes<IndexedVector<FirstId, int>, OtherId>);
// It accepts integers.
static_assert(std::is_convertible_v<FirstId, int> && std::is_convertible_v<int, FirstId>);
static_assert(can_be_compared<FirstId, FirstId> && can_be_compared<FirstId, int>);
static_assert(takes<IndexedVector<FirstId, int>, FirstId> && takes<IndexedVector<FirstId, int>, std::size_t>);

TEST(TypedId, IsNoneUntilItIsSet) {
    FirstId id;
    EXPECT_EQ(id, -1);
    ++id;
    EXPECT_EQ(id, 0);
    --id;
    EXPECT_LT(id, 0);
}

TEST(IndexedVector, SelectsByItsIdAndByCounting) {
    IndexedVector<FirstId, char> vector{'a', 'b', 'c'};
    EXPECT_EQ(vector[FirstId{1}], 'b');
    EXPECT_EQ(vector[vector.size() - 1], 'c');
    EXPECT_EQ(vector.end_id(), 3);
    vector[FirstId{2}] = 'd';
    EXPECT_EQ(vector.at(FirstId{2}), 'd');
    EXPECT_THROW(vector.at(FirstId{}), std::out_of_range);
    EXPECT_THROW(vector.at(3), std::out_of_range);
}

enum class Color { red, green };

constexpr const char* to_string(Color color) {
    switch (color) {
        case Color::red:
            return "red";
        case Color::green:
            return "green";
    }
    throw std::invalid_argument{"no Color"};
}

TEST(EnumArray, HasAnElementForEachEnumerator) {
    EnumArray<Color, int> numbers{3, 4};
    EXPECT_EQ(numbers.size(), 2);
    numbers[Color::green] += 5;
    EXPECT_EQ(numbers[Color::red] + numbers[1], 12);
}

}  // namespace
}  // namespace ziggurat
