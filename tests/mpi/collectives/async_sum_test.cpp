#include "comm/async_sum.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>

#include "comm/backoff.hpp"
#include "comm/node/node_memory.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using test::world;

enum class Path { mpi, seats, nodes };

/// A sum as in a training step: started, then polled between other work.
class AsyncSumBy : public ::testing::TestWithParam<Path> {
  protected:
    AsyncSumBy() {
        if (GetParam() != Path::mpi) {
            const int pretended = GetParam() == Path::nodes ? world().size() : 0;
            // A lost wake-up must not look like a slow one.
            node_ = std::make_unique<NodeMemory>(
                world(),
                NodeMemory::Options{.pretended_nodes = pretended, .longest_sleep_ns = 600'000'000'000});
        }
    }

    void finish(AsyncSum& sum) {
        Backoff idle{node_.get()};
        while (!sum.poll()) {
            idle.idle();
        }
    }

    std::unique_ptr<NodeMemory> node_;
};

TEST_P(AsyncSumBy, GivesAllRanksTheSumsAndMaximaOfEveryRound) {
    AsyncSum sum{world().group(), 5, node_.get(), 2};
    const int n = world().size();
    EXPECT_EQ(GetParam() == Path::seats || (GetParam() == Path::nodes && n == 1), sum.is_shared());

    for (std::int64_t round = 0; round < 200; ++round) {
        if (round % 50 == world().rank()) {
            usleep(3000);  // some ranks are late, others are a round ahead by then
        }
        sum.words()[0] = world().rank() * 1000 + round;
        sum.words()[1] = -world().rank();
        sum.words()[2] = std::numeric_limits<std::int64_t>::min();
        sum.words()[3] = -world().rank() - round;
        sum.words()[4] = world().rank() == round % n ? round : 0;
        sum.start();
        finish(sum);

        const std::int64_t ranks = n * (n - 1) / 2;
        ASSERT_EQ(1000 * ranks + n * round, sum.words()[0]) << "round " << round;
        ASSERT_EQ(-ranks, sum.words()[1]);
        ASSERT_EQ(n % 2 == 0 ? 0 : std::numeric_limits<std::int64_t>::min(), sum.words()[2])
            << "modulo 2^64, as limbs need it";
        ASSERT_EQ(-round, sum.words()[3]) << "the greatest";
        ASSERT_EQ(round, sum.words()[4]);
    }
    if (node_ != nullptr) {
        EXPECT_EQ(0, node_->wait_counts().timeouts);
    }
}

TEST_P(AsyncSumBy, OfPartsOfTheWorldRunsBesideThatOfAll) {
    const auto parity = world().group().split(world().rank() % 2);
    AsyncSum of_all{world().group(), 1, node_.get()};
    AsyncSum of_part{parity, 1, node_.get()};

    for (std::int64_t round = 0; round < 50; ++round) {
        of_all.words()[0] = 1;
        of_part.words()[0] = 1;
        of_all.start();
        of_part.start();
        Backoff idle{node_.get()};
        for (bool all = false, part = false; !all || !part;) {
            all = of_all.poll();
            part = of_part.poll();
            idle.idle();
        }
        ASSERT_EQ(world().size(), of_all.words()[0]);
        ASSERT_EQ(parity.size(), of_part.words()[0]);
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, AsyncSumBy, ::testing::Values(Path::mpi, Path::seats, Path::nodes));

}  // namespace
}  // namespace ziggurat::comm
