/// Sums and gathers by NCCL, with equal and unequal blocks.
#include <algorithm>
#include <cmath>

#include "tests/mpi/nccl/nccl_fixture.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;

template <class T>
class OverNcclOf : public OverNccl {};
using Elements = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(OverNcclOf, Elements);

constexpr std::int64_t units[] = {0, 1, 5, 1023, 20'000};

/// Checks sums in any order.
void expect_near_sums(const float* sums, const Block& block, int members) {
    for (std::int64_t i = 0; i < block.bytes / 4; ++i) {
        const auto at = block.offset_bytes / 4 + i;
        float max = 0;
        for (int m = 0; m < members; ++m) {
            max += std::abs(ragged(m, at));
        }
        ASSERT_NEAR(sums[i], expected_sum<float>(members, 0, at, ragged), 1e-6F * max) << "element " << i;
    }
}

TYPED_TEST(OverNcclOf, UnlikeBlocksAreSummedInRankOrder) {
    using T = TypeParam;
    for (const int sum_group : {0, 1, 2, 3}) {
        for (const auto unit : units) {
            const auto blocks = uneven_blocks<T>(this->size(), unit);
            const auto input = this->put(filled<T>(elements_of<T>(blocks), this->rank(), ragged));
            const Block own = blocks[this->me()];
            const auto shard = this->put(own.bytes / std::int64_t{sizeof(T)} + 1, T{-7.0F});

            this->run({.kind = CollectiveKind::reduce_scatter,
                       .type = dtype_of<T>,
                       .input = input.at,
                       .output = shard.at,
                       .blocks = blocks,
                       .sum_group = sum_group,
                       .label = "shard"});

            const auto sums = this->get(shard);
            expect_sums(sums.data(), own, this->size(), sum_group);
            EXPECT_EQ(-7.0F, static_cast<float>(sums.back())) << "wrote past its block";
        }
    }
}

TYPED_TEST(OverNcclOf, ReduceScatterInPlaceLeavesOtherBlocksAlone) {
    using T = TypeParam;
    for (const bool is_equal : {false, true}) {
        const auto blocks =
            is_equal ? equal_blocks<T>(this->size(), 1001) : uneven_blocks<T>(this->size(), 1001);
        const auto before = filled<T>(elements_of<T>(blocks), this->rank(), numbered);
        const auto vector = this->put(before);
        const Block own = blocks[this->me()];

        this->run({.kind = CollectiveKind::reduce_scatter,
                   .type = dtype_of<T>,
                   .input = vector.at,
                   .output = vector.at,
                   .output_offset_bytes = own.offset_bytes,
                   .blocks = blocks,
                   .label = "in place"});

        const auto after = this->get(vector);
        for (std::size_t i = 0; i < after.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i * sizeof(T));
            if (at < own.offset_bytes || at >= own.end()) {
                ASSERT_EQ(before[i], after[i]) << "element " << i << " is another's";
            } else if (this->size() <= 2 || !is_equal || sizeof(T) == 2) {
                ASSERT_EQ(expected_sum<T>(this->size(), 0, static_cast<std::int64_t>(i), numbered), after[i]);
            }
        }
    }
}

TYPED_TEST(OverNcclOf, AllReduceGivesAllTheSameSums) {
    using T = TypeParam;
    for (const bool in_place : {false, true}) {
        for (const int sum_group : {0, 2}) {
            for (const auto unit : units) {
                const auto blocks = uneven_blocks<T>(this->size(), unit);
                const auto input = this->put(filled<T>(elements_of<T>(blocks), this->rank(), ragged));
                const auto output = in_place ? input : this->put(elements_of<T>(blocks), T{});

                this->run({.kind = CollectiveKind::all_reduce,
                           .type = dtype_of<T>,
                           .input = input.at,
                           .output = output.at,
                           .blocks = blocks,
                           .sum_group = sum_group,
                           .label = "sums"});

                expect_sums(this->get(output).data(), {0, blocks.back().end()}, this->size(), sum_group);
            }
        }
    }
}

TYPED_TEST(OverNcclOf, AllGatherPutsEachBlockInItsPlace) {
    using T = TypeParam;
    for (const bool in_place : {false, true}) {
        for (const bool is_equal : {false, true}) {
            for (const auto unit : units) {
                const auto blocks =
                    is_equal ? equal_blocks<T>(this->size(), unit) : uneven_blocks<T>(this->size(), unit);
                const Block own = blocks[this->me()];
                const auto whole = filled<T>(elements_of<T>(blocks), 3, ragged);
                const auto begin = whole.begin() + own.offset_bytes / std::int64_t{sizeof(T)};
                const std::vector<T> mine(begin, begin + own.bytes / std::int64_t{sizeof(T)});
                std::vector<T> before(whole.size(), T{});
                std::copy(mine.begin(), mine.end(),
                          before.begin() + own.offset_bytes / std::int64_t{sizeof(T)});
                const auto output = this->put(in_place ? before : std::vector<T>(whole.size(), T{}));
                const auto input = in_place ? output : this->put(mine);

                this->run({.kind = CollectiveKind::all_gather,
                           .type = dtype_of<T>,
                           .input = input.at,
                           .output = output.at,
                           .input_offset_bytes = in_place ? own.offset_bytes : 0,
                           .blocks = blocks,
                           .label = "gather"});

                EXPECT_EQ(whole, this->get(output));
            }
        }
    }
}

/// The library sums in its own order. Ziggurat sums bfloat16 itself if the library would round twice.
TYPED_TEST(OverNcclOf, EqualBlocksAreSummedByTheLibraryWhereItRoundsOnce) {
    using T = TypeParam;
    const auto blocks = equal_blocks<T>(this->size(), 1200);
    const Block own = blocks[this->me()];
    const Block all{0, blocks.back().end()};
    const auto elements = elements_of<T>(blocks);
    const auto input = this->put(filled<T>(elements, this->rank(), ragged));
    const auto shard = this->put(own.bytes / std::int64_t{sizeof(T)}, T{});
    const auto whole = this->put(elements, T{});

    const int scattered = this->run({.kind = CollectiveKind::reduce_scatter,
                                     .type = dtype_of<T>,
                                     .input = input.at,
                                     .output = shard.at,
                                     .blocks = blocks,
                                     .label = "shard"});
    const int reduced = this->run({.kind = CollectiveKind::all_reduce,
                                   .type = dtype_of<T>,
                                   .input = input.at,
                                   .output = whole.at,
                                   .blocks = blocks,
                                   .label = "sums"});

    if constexpr (sizeof(T) == 4) {
        expect_near_sums(this->get(shard).data(), own, this->size());
        expect_near_sums(this->get(whole).data(), all, this->size());
    } else {
        expect_sums(this->get(shard).data(), own, this->size(), 0);
        expect_sums(this->get(whole).data(), all, this->size(), 0);
    }
    const auto ring = (this->size() - 1) * own.bytes;
    EXPECT_EQ(this->collectives->bytes_moved(scattered), ring);
    EXPECT_EQ(this->collectives->bytes_moved(reduced), 2 * ring);
}

}  // namespace
}  // namespace ziggurat::comm
