#include "checkpoint/box.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/support/draw.hpp"

namespace ziggurat::checkpoint {
namespace {

using test::Draw;

std::vector<std::int64_t> draw_shape(int rank, Draw& draw) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(rank));
    for (std::int64_t& extent : shape) {
        extent = draw.between(1, 6);
    }
    return shape;
}

Box draw_window(const std::vector<std::int64_t>& shape, Draw& draw) {
    Box window = whole(shape);
    for (std::size_t k = 0; k < shape.size(); ++k) {
        window.begin[k] = draw.between(0, shape[k] - 1);
        window.extent[k] = draw.between(1, shape[k] - window.begin[k]);
    }
    return window;
}

/// Every index of a box in row-major order, the slow way.
std::vector<std::vector<std::int64_t>> indices_of(const Box& box) {
    std::vector<std::vector<std::int64_t>> indices;
    for (std::int64_t element = 0; element < box.elements(); ++element) {
        std::vector<std::int64_t> index(box.extent.size());
        std::int64_t rest = element;
        for (std::size_t k = box.extent.size(); k-- > 0;) {
            index[k] = box.begin[k] + rest % box.extent[k];
            rest /= box.extent[k];
        }
        indices.push_back(index);
    }
    return indices;
}

TEST(Box, ARunIsCoveredOnceInItsOrderByFewBoxes) {
    Draw draw{1};
    for (int round = 0; round < 3000; ++round) {
        const int rank = static_cast<int>(draw.between(0, 4));
        const Box window = draw_window(draw_shape(rank, draw), draw);
        const std::int64_t first = draw.between(0, window.elements());
        const std::int64_t last = draw.between(first, window.elements());

        const std::vector<Box> boxes = boxes_of_run(window, first, last);

        std::vector<std::vector<std::int64_t>> covered;
        for (const Box& box : boxes) {
            EXPECT_FALSE(box.is_empty());
            const auto indices = indices_of(box);
            covered.insert(covered.end(), indices.begin(), indices.end());
        }
        const auto all = indices_of(window);
        // In the window's own order: so each box is contiguous in memory that holds it row by row.
        EXPECT_EQ(covered, std::vector(all.begin() + first, all.begin() + last));
        EXPECT_LE(static_cast<int>(boxes.size()), std::max(2 * rank - 1, 1));
    }
}

TEST(Box, ARunOfWholeRowsIsOneBox) {
    EXPECT_EQ(boxes_of_run(whole({7, 3, 5}), 15, 60), (std::vector<Box>{{{1, 0, 0}, {3, 3, 5}}}));
    EXPECT_EQ(boxes_of_run(whole({7, 3, 5}), 0, 105), (std::vector<Box>{whole({7, 3, 5})}));
    EXPECT_EQ(boxes_of_run(whole({7, 3, 5}), 20, 25), (std::vector<Box>{{{1, 1, 0}, {1, 1, 5}}}));
    EXPECT_TRUE(boxes_of_run(whole({7, 3}), 4, 4).empty());
}

TEST(Box, TwoBoxesShareTheirCommonIndices) {
    Draw draw{2};
    for (int round = 0; round < 2000; ++round) {
        const auto shape = draw_shape(static_cast<int>(draw.between(0, 4)), draw);
        const Box a = draw_window(shape, draw);
        const Box b = draw_window(shape, draw);
        std::vector<std::vector<std::int64_t>> expected;
        const auto of_b = indices_of(b);
        const std::set<std::vector<std::int64_t>> in_b{of_b.begin(), of_b.end()};
        for (const auto& index : indices_of(a)) {
            if (in_b.contains(index)) {
                expected.push_back(index);
            }
        }

        const std::optional<Box> part = common_part(a, b);

        EXPECT_EQ(part.has_value(), !expected.empty());
        EXPECT_EQ(part ? indices_of(*part) : expected, expected);
    }
}

TEST(Box, StretchesLeadFromEachElementOfOneMemoryToTheOther) {
    Draw draw{3};
    for (int round = 0; round < 2000; ++round) {
        const auto shape = draw_shape(static_cast<int>(draw.between(0, 4)), draw);
        const Box a = draw_window(shape, draw);
        const Box b = draw_window(shape, draw);
        const std::optional<Box> part = common_part(a, b);
        if (!part) {
            continue;
        }
        const auto of_a = indices_of(a);
        const auto of_b = indices_of(b);

        std::vector<std::vector<std::int64_t>> visited;
        Stretch last{-1, -1, 0};
        for (const Stretch& stretch : stretches(*part, a, b)) {
            EXPECT_FALSE(stretch.offset_in_whole == last.offset_in_whole + last.elements &&
                         stretch.offset_inside == last.offset_inside + last.elements)
                << "two stretches that could be one";
            last = stretch;
            for (std::int64_t k = 0; k < stretch.elements; ++k) {
                const auto& in_a = of_a[static_cast<std::size_t>(stretch.offset_in_whole + k)];
                EXPECT_EQ(in_a, of_b[static_cast<std::size_t>(stretch.offset_inside + k)]);
                visited.push_back(in_a);
            }
        }
        EXPECT_EQ(visited, indices_of(*part));
    }
}

TEST(Box, APartOfWholeRowsIsOneStretch) {
    const Box a = whole({8, 5});
    const Box b{{2, 0}, {6, 5}};
    const auto found = stretches({{3, 0}, {4, 5}}, a, b);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].offset_in_whole, 15);
    EXPECT_EQ(found[0].offset_inside, 5);
    EXPECT_EQ(found[0].elements, 20);
}

}  // namespace
}  // namespace ziggurat::checkpoint
