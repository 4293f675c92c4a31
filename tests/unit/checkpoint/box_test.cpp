#include "checkpoint/box.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/support/random/draw.hpp"

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

/// Returns every index of a box in row-major order, by a slow reference implementation.
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
        // In row-major order of the window: each box is contiguous in memory that holds the window by rows.
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

TEST(Box, CommonRunsLeadFromEachElementOfOneMemoryToTheOther) {
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
        CommonRun last{-1, -1, 0};
        for (const CommonRun& run : common_runs(*part, a, b)) {
            EXPECT_FALSE(run.offset_in_a == last.offset_in_a + last.elements &&
                         run.offset_in_b == last.offset_in_b + last.elements)
                << "two runs that could be one";
            last = run;
            for (std::int64_t k = 0; k < run.elements; ++k) {
                const auto& in_a = of_a[static_cast<std::size_t>(run.offset_in_a + k)];
                EXPECT_EQ(in_a, of_b[static_cast<std::size_t>(run.offset_in_b + k)]);
                visited.push_back(in_a);
            }
        }
        EXPECT_EQ(visited, indices_of(*part));
    }
}

TEST(Box, APartOfWholeRowsIsOneRun) {
    const Box a = whole({8, 5});
    const Box b{{2, 0}, {6, 5}};
    const auto found = common_runs({{3, 0}, {4, 5}}, a, b);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].offset_in_a, 15);
    EXPECT_EQ(found[0].offset_in_b, 5);
    EXPECT_EQ(found[0].elements, 20);
}

/// Returns boxes that cover `shape` exactly once: windows split in two repeatedly.
std::vector<Box> draw_cover(const std::vector<std::int64_t>& shape, Draw& draw) {
    std::vector<Box> boxes{whole(shape)};
    for (std::int64_t cuts = draw.between(0, 6); cuts > 0 && !shape.empty(); --cuts) {
        Box& box = boxes[static_cast<std::size_t>(draw.between(0, std::ssize(boxes) - 1))];
        const auto dim = static_cast<std::size_t>(draw.between(0, std::ssize(shape) - 1));
        if (box.extent[dim] > 1) {
            Box other = box;
            const std::int64_t at = draw.between(1, box.extent[dim] - 1);
            box.extent[dim] = at;
            other.begin[dim] += at;
            other.extent[dim] -= at;
            boxes.push_back(other);
        }
    }
    return boxes;
}

bool covers_once(const std::vector<Box>& boxes, const std::vector<std::int64_t>& shape) {
    std::vector<const Box*> pointers;
    for (const Box& box : boxes) {
        pointers.push_back(&box);
    }
    return cover_once(pointers, shape);
}

TEST(Box, CoversAreKnownFromWhatOverlapsOrLacks) {
    Draw draw{11};
    int covers = 0;
    for (int round = 0; round < 4000; ++round) {
        const auto shape = draw_shape(static_cast<int>(draw.between(0, 4)), draw);
        std::vector<Box> boxes = draw_cover(shape, draw);
        ASSERT_TRUE(covers_once(boxes, shape)) << round;
        const auto which = static_cast<std::size_t>(draw.between(0, std::ssize(boxes) - 1));
        boxes[which] = draw_window(shape, draw);
        std::multiset<std::vector<std::int64_t>> held;
        for (const Box& box : boxes) {
            const auto indices = indices_of(box);
            held.insert(indices.begin(), indices.end());
        }
        const auto all = indices_of(whole(shape));
        const bool is_cover = held == std::multiset<std::vector<std::int64_t>>(all.begin(), all.end());
        EXPECT_EQ(covers_once(boxes, shape), is_cover) << round;
        covers += is_cover ? 1 : 0;
    }
    EXPECT_GT(covers, 100) << "both happen";
    EXPECT_LT(covers, 3900);
}

TEST(Box, ManyBoxesTakeTimeLikeTheirNumber) {
    // Adjacent along the last dim: comparing all pairs would take 10^11 comparisons.
    const std::int64_t count = 400'000;
    std::vector<Box> boxes;
    for (std::int64_t k = 0; k < count; ++k) {
        boxes.push_back({{0, k}, {1, 1}});
    }
    EXPECT_TRUE(covers_once(boxes, {1, count}));
    boxes.back().begin[1] = 7;
    EXPECT_FALSE(covers_once(boxes, {1, count}));
}

}  // namespace
}  // namespace ziggurat::checkpoint
