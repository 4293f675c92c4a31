#include "comm/hierarchical/sum_runs.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "comm/fold.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"

namespace ziggurat::comm {
namespace {

using namespace ziggurat::test;
using tensor::bfloat16;

template <class T>
class SumRunsOf : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(SumRunsOf, ElementTypes);

/// Sums vectors; every second group of `sum_group` members is a partial sum, as from another node.
template <class T>
std::vector<T> summed_by_runs(const std::vector<std::vector<T>>& vectors, int sum_group, std::size_t summed) {
    const auto elements = std::ssize(vectors.front());
    const std::size_t longest = sum_group == 0 ? vectors.size() : static_cast<std::size_t>(sum_group);
    std::vector<Addend> addends;
    std::vector<std::vector<float>> partial_sums;
    for (std::size_t first = 0, run = 0; first < vectors.size(); first += longest, ++run) {
        std::vector<Addend> members;
        for (std::size_t m = first; m < std::min(first + longest, vectors.size()); ++m) {
            members.push_back({.at = bytes(vectors[m]), .type = dtype_of<T>, .begins_run = m == first});
        }
        if (run % 2 == summed) {
            partial_sums.emplace_back(static_cast<std::size_t>(elements));
            sum_runs(members, bytes(partial_sums.back()), spec::DType::f32, 0, elements);
            members = {{.at = bytes(partial_sums.back()), .type = spec::DType::f32, .begins_run = true}};
        }
        addends.insert(addends.end(), members.begin(), members.end());
    }
    std::vector<T> output(static_cast<std::size_t>(elements));
    sum_runs(addends, bytes(output), dtype_of<T>, 0, elements / 3);
    sum_runs(addends, bytes(output), dtype_of<T>, elements / 3, elements, Stores::non_temporal);
    return output;
}

TYPED_TEST(SumRunsOf, GivesTheBitsOfFoldWhicheverRunsWereSummedBefore) {
    using T = TypeParam;
    for (const int members : {1, 2, 3, 6, 9, 40}) {
        for (const std::int64_t elements : {0, 1, 15, 16, 17, 2047, 2048, 5001}) {
            std::vector<std::vector<T>> vectors;
            std::vector<const std::byte*> inputs;
            for (int m = 0; m < members; ++m) {
                vectors.push_back(filled<T>(elements, m, ragged));
                inputs.push_back(bytes(vectors.back()));
            }
            for (const int sum_group : {0, 1, 2, 3, 4, 20, 100}) {
                std::vector<T> want(static_cast<std::size_t>(elements));
                fold(inputs, bytes(want), elements, dtype_of<T>, sum_group);

                EXPECT_EQ(want, summed_by_runs(vectors, sum_group, 0));
                EXPECT_EQ(want, summed_by_runs(vectors, sum_group, 1));
                EXPECT_EQ(want, summed_by_runs(vectors, sum_group, 2)) << "none before";
            }
        }
    }
}

TYPED_TEST(SumRunsOf, MayWriteOverAnAddend) {
    using T = TypeParam;
    auto a = filled<T>(3001, 0, ragged);
    auto b = filled<T>(3001, 1, ragged);
    const auto c = filled<float>(3001, 2, ragged);
    const auto want_of = [&](std::size_t i) {
        return T{static_cast<float>(a[i]) + static_cast<float>(b[i]) + c[i]};
    };
    const T first = want_of(0);
    const T last = want_of(3000);

    const Addend addends[] = {{.at = bytes(a), .type = dtype_of<T>, .begins_run = true},
                              {.at = bytes(b), .type = dtype_of<T>},
                              {.at = bytes(c), .type = spec::DType::f32, .begins_run = true}};
    sum_runs(addends, bytes(b), dtype_of<T>, 0, 3001);

    EXPECT_EQ(first, b.front());
    EXPECT_EQ(last, b.back());
}

}  // namespace
}  // namespace ziggurat::comm
