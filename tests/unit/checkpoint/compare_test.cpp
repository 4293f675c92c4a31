#include "checkpoint/catalogue/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "checkpoint/catalogue/tensor_list.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stored_checkpoint.hpp"

namespace ziggurat::checkpoint {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

using Tensors = std::vector<test::StoredNumbers>;

/// Checkpoints of one test, each in a separate folder.
class Stored : public ::testing::Test {
  protected:
    CheckpointReader reader(const Tensors& tensors, std::int64_t step = 1, int writers = 1) {
        return CheckpointReader{test::store(scratch_.file(std::to_string(++stored_)), tensors,
                                            test::manifest_of_step(step), writers)};
    }

    Comparison compare_two(const Tensors& first, const Tensors& second) {
        CheckpointReader a = reader(first);
        CheckpointReader b = reader(second, 1, 3);
        return compare(a, b);
    }

    test::ScratchFolder scratch_;
    int stored_ = 0;
};

Tensors some() {
    return {{PieceKind::weights, "layers.0.gain", {3}, {1, 2, 3}},
            {PieceKind::weights, "table", {4, 2}, {0, -1, 2, 3, 4, 5, 6, 7}},
            {PieceKind::first_moment, "table", {4, 2}, {0, 0, 0, 0, 0, 0, 0, 1}}};
}

TEST(TensorNames, NumbersInThemCountAsNumbers) {
    EXPECT_TRUE(is_before("layers.2.gain", "layers.10.gain"));
    EXPECT_FALSE(is_before("layers.10.gain", "layers.2.gain"));
    EXPECT_FALSE(is_before("layers.2.gain", "layers.2.gain"));
    EXPECT_TRUE(is_before("layers.2", "layers.2.gain"));
    EXPECT_TRUE(is_before("embedding", "layers"));
    EXPECT_NE(is_before("layers.02", "layers.2"), is_before("layers.2", "layers.02"));
    EXPECT_TRUE(is_before("", "a"));
}

TEST_F(Stored, TensorsAreListedOnceWhateverTheirPieces) {
    CheckpointReader written_by_three = reader(some(), 1, 3);

    const auto tensors = stored_tensors(written_by_three.manifest());

    ASSERT_EQ(tensors.size(), 3U);
    EXPECT_EQ(tensors[0].name, "layers.0.gain");
    EXPECT_EQ(tensors[0].pieces, 3);
    EXPECT_EQ(tensors[1].name, "table");
    EXPECT_EQ(tensors[1].shape, (std::vector<std::int64_t>{4, 2}));
    EXPECT_EQ(tensors[2].kind, PieceKind::first_moment);
    EXPECT_EQ(tensors[2].bytes(), 32);
}

TEST_F(Stored, StatisticsLeaveOutWhatIsNoNumber) {
    CheckpointReader stored =
        reader({{PieceKind::weights, "a", {2, 5}, {3, -4, 0, nan, infinity, 0, 1, 1, 1, -2}}}, 1, 2);

    const auto numbers = statistics(stored, stored_tensors(stored.manifest()).front());

    EXPECT_EQ(numbers.elements, 10);
    EXPECT_EQ(numbers.nonfinite, 2);
    EXPECT_EQ(numbers.zeros, 2);
    EXPECT_EQ(numbers.min, -4);
    EXPECT_EQ(numbers.max, 3);
    EXPECT_EQ(numbers.mean, 0);
    EXPECT_DOUBLE_EQ(numbers.norm, std::sqrt(9 + 16 + 3 + 4.0));
    ASSERT_EQ(numbers.first.size(), 8U);
    EXPECT_EQ(numbers.first[1], -4);
    EXPECT_TRUE(std::isnan(numbers.first[3]));
}

TEST_F(Stored, StatisticsOfNoNumbersAreNone) {
    CheckpointReader stored = reader({{PieceKind::weights, "a", {2}, {nan, infinity}}});

    const auto numbers = statistics(stored, stored_tensors(stored.manifest()).front());

    EXPECT_EQ(numbers.nonfinite, 2);
    EXPECT_TRUE(std::isnan(numbers.min) && std::isnan(numbers.max) && std::isnan(numbers.mean));
}

TEST_F(Stored, WalksATensorOfManyBlocksInOrder) {
    const std::int64_t columns = 1000;
    const std::int64_t rows = walk_block_elements / columns + 5;
    std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    CheckpointReader stored = reader({{PieceKind::weights, "a", {rows, columns}, numbers}}, 1, 2);
    std::vector<float> walked;
    int blocks = 0;

    walk(stored, stored_tensors(stored.manifest()).front(), [&](std::span<const float> block) {
        walked.insert(walked.end(), block.begin(), block.end());
        ++blocks;
    });

    EXPECT_EQ(walked, numbers);
    EXPECT_EQ(blocks, 2);
}

TEST_F(Stored, TheSameNumbersAreTheSameHoweverTheyLie) {
    const auto comparison = compare_two(some(), some());

    EXPECT_TRUE(comparison.is_same());
    EXPECT_EQ(comparison.tensors.size(), 3U);
}

TEST_F(Stored, SaysHowFarNumbersAreApart) {
    Tensors changed = some();
    changed[1].numbers[3] = 3.5F;
    changed[1].numbers[4] = -4;

    const auto comparison = compare_two(some(), changed);

    EXPECT_FALSE(comparison.is_same());
    EXPECT_EQ(comparison.tensors[0].verdict, TensorVerdict::same);
    const auto& table = comparison.tensors[1];
    EXPECT_EQ(table.verdict, TensorVerdict::other_numbers);
    EXPECT_EQ(table.differing, 2);
    EXPECT_EQ(table.largest_absolute, 8);
    EXPECT_EQ(table.largest_relative, 2);
    EXPECT_DOUBLE_EQ(table.norm, std::sqrt(64.25));
    EXPECT_DOUBLE_EQ(table.relative_norm, std::sqrt(64.25 / 140));
    EXPECT_EQ(comparison.tensors[2].verdict, TensorVerdict::same);
}

TEST_F(Stored, BitsDecideAndNotValues) {
    const Tensors first = {{PieceKind::weights, "a", {4}, {0.0F, nan, 1, infinity}}};
    const Tensors second = {{PieceKind::weights, "a", {4}, {-0.0F, nan, 1, 2}}};

    const auto comparison = compare_two(first, second);

    const auto& difference = comparison.tensors.front();
    EXPECT_EQ(difference.verdict, TensorVerdict::other_numbers);
    EXPECT_EQ(difference.differing, 2);
    EXPECT_EQ(difference.nonfinite, 1);
    EXPECT_EQ(difference.largest_absolute, 0);
    EXPECT_EQ(difference.norm, 0);
}

TEST_F(Stored, ADifferenceFromNothingIsInfinitelyLarge) {
    const auto comparison =
        compare_two({{PieceKind::weights, "a", {2}, {0, 0}}}, {{PieceKind::weights, "a", {2}, {0, 1}}});

    EXPECT_TRUE(std::isinf(comparison.tensors.front().relative_norm));
    EXPECT_EQ(comparison.tensors.front().largest_relative, 1);
}

TEST_F(Stored, NamesTensorsThatOnlyOneHasOrThatHaveAnotherShape) {
    Tensors other = some();
    other[0].shape = {1, 3};
    other[2].name = "zebra";

    const auto comparison = compare_two(some(), other);

    ASSERT_EQ(comparison.tensors.size(), 4U);
    EXPECT_EQ(comparison.tensors[0].verdict, TensorVerdict::other_shape);
    EXPECT_EQ(comparison.tensors[0].other_shape, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(comparison.tensors[1].verdict, TensorVerdict::same);
    EXPECT_EQ(comparison.tensors[2].name, "table");
    EXPECT_EQ(comparison.tensors[2].verdict, TensorVerdict::only_in_first);
    EXPECT_EQ(comparison.tensors[3].name, "zebra");
    EXPECT_EQ(comparison.tensors[3].verdict, TensorVerdict::only_in_second);
    EXPECT_FALSE(comparison.are_tensors_same());
}

TEST_F(Stored, AnotherStepIsNotTheSame) {
    CheckpointReader first = reader(some(), 1);
    CheckpointReader second = reader(some(), 2);

    const auto comparison = compare(first, second);

    EXPECT_TRUE(comparison.are_tensors_same());
    EXPECT_FALSE(comparison.is_same_progress);
    EXPECT_FALSE(comparison.is_same());
}

TEST_F(Stored, ProgressEndsWithEverything) {
    CheckpointReader first = reader(some());
    CheckpointReader second = reader(some());
    std::int64_t last = 0;
    std::int64_t all = -1;

    compare(first, second, [&](std::int64_t done, std::int64_t bytes) {
        EXPECT_GT(done, last);
        last = done;
        all = bytes;
    });

    EXPECT_EQ(last, all);
    EXPECT_EQ(all, 2 * (12 + 32 + 32));
}

}  // namespace
}  // namespace ziggurat::checkpoint
