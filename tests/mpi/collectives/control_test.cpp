#include "comm/control.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "comm/background.hpp"
#include "comm/check_mpi.hpp"
#include "comm/node_topology.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using test::world;

TEST(Control, AgreesOnlyWhenAllDo) {
    for (int against = 0; against < world().size(); ++against) {
        EXPECT_FALSE(all_agree(world(), world().rank() != against));
    }
    EXPECT_TRUE(all_agree(world(), true));
}

TEST(Control, BroadcastsTextOfAnyLengthFromAnyRank) {
    for (int root = 0; root < world().size(); ++root) {
        const std::string text =
            "deck of rank " + std::to_string(root) + std::string(static_cast<std::size_t>(root), '!');
        EXPECT_EQ(text, broadcast(world(), world().rank() == root ? text : "mine", root));
        EXPECT_EQ("", broadcast(world(), world().rank() == root ? "" : "mine", root));
    }
}

TEST(Control, GathersTextsAndNumbersInRankOrderOnRankZero) {
    const int rank = world().rank();
    const double pair[] = {rank * 1000.0, rank * 1000.0 + 1};

    const auto texts = gather(world(), std::string(static_cast<std::size_t>(rank), 'x'));
    const auto numbers = gather(world(), std::span{pair});

    if (rank != 0) {
        EXPECT_TRUE(texts.empty());
        EXPECT_TRUE(numbers.empty());
        return;
    }
    ASSERT_EQ(world().size(), std::ssize(texts));
    for (int r = 0; r < world().size(); ++r) {
        const auto i = static_cast<std::size_t>(r);
        EXPECT_EQ(i, texts[i].size());
        EXPECT_EQ(r * 1000.0, numbers[2 * i]);
        EXPECT_EQ(r * 1000.0 + 1, numbers[2 * i + 1]);
    }
}

TEST(Control, TellsAllRanksTheFirstText) {
    const int rank = world().rank();
    for (int first = 0; first < world().size(); ++first) {
        EXPECT_EQ(first_text(world(), rank < first ? "" : "of rank " + std::to_string(rank)),
                  "of rank " + std::to_string(first));
    }
    EXPECT_EQ(first_text(world(), ""), "");
}

TEST(Control, ManyExchangesOfTheWorldAndItsPartsStayApart) {
    const auto copied = world().group().duplicate();
    const auto split = world().group().split(world().rank() % 2);
    const Context copy{copied, world().waits()};
    const Context parity = world().in(split);
    ASSERT_NE(nullptr, world().board()) << "all ranks of a test run on one machine";
    ASSERT_EQ(nullptr, parity.board());
    const std::int64_t n = world().size();

    for (std::int64_t round = 0; round < 300; ++round) {
        std::vector<std::int64_t> words(static_cast<std::size_t>(round % 40), round);
        std::int64_t rank = world().rank();
        std::int64_t one = 1;

        all_reduce_sum(world(), words);  // more words than the board has slots
        all_reduce_sum(parity, {&one, 1});
        all_reduce_max(copy, {&rank, 1});
        barrier(world());

        ASSERT_EQ(std::vector<std::int64_t>(words.size(), n * round), words);
        ASSERT_EQ(parity.size(), one);
        ASSERT_EQ(n - 1, rank);
    }
}

TEST(Control, SumsWrapLikeLimbsAndMaximaKeepSigns) {
    const int n = world().size();
    std::vector<std::uint64_t> limbs{std::numeric_limits<std::uint64_t>::max(),
                                     static_cast<std::uint64_t>(world().rank())};
    std::vector<std::int64_t> words{-5 - world().rank(), world().rank()};
    std::vector<double> seconds{-0.5 * world().rank(), 0.25};

    all_reduce_sum(world(), limbs);
    all_reduce_max(world(), words);
    all_reduce_max(world(), std::span{seconds});

    EXPECT_EQ(std::uint64_t{0} - static_cast<std::uint64_t>(n), limbs[0]);
    EXPECT_EQ(static_cast<std::uint64_t>(n * (n - 1) / 2), limbs[1]);
    EXPECT_EQ((std::vector<std::int64_t>{-5, n - 1}), words);
    EXPECT_EQ((std::vector<double>{0.0, 0.25}), seconds);
}

/// Background work that rank 0 depends on before it joins the exchange: a message of each other rank.
class Messenger final : public BackgroundWork {
  public:
    void advance() override {
        if (!std::exchange(has_sent_, true) && world().rank() != 0) {
            ZG_MPI(MPI_Send(nullptr, 0, MPI_BYTE, 0, 7, world().group().native()));
        }
    }

  private:
    bool has_sent_ = false;
};

TEST(Control, GoesOnWithItsBackgroundWhileItWaits) {
    const std::function<void(const Context&)> exchanges[] = {
        [](const Context& all) { barrier(all); }, [](const Context& all) { gather(all, "text"); },
        [](const Context& all) { all_agree(all, true); }, [](const Context& all) { broadcast(all, "text"); }};
    for (const auto& exchange : exchanges) {
        Messenger messenger;
        for (int from = 1; world().rank() == 0 && from < world().size(); ++from) {
            ZG_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, from, 7, world().group().native(), MPI_STATUS_IGNORE));
        }
        exchange(world().with_background(messenger));
        messenger.advance();  // for ranks that did not have to wait
    }
}

TEST(Communicator, SplitsKeepOrderAndSubgroupsTalkApart) {
    const auto parity = world().group().split(world().rank() % 2);
    const auto reversed = world().group().split(0, -world().rank());

    std::vector<std::int64_t> sum{world().rank()};
    all_reduce_sum(world().in(parity), sum);

    std::int64_t expected = 0;
    for (int r = world().rank() % 2; r < world().size(); r += 2) {
        expected += r;
    }
    EXPECT_EQ(expected, sum[0]);
    EXPECT_EQ(world().rank() / 2, parity.rank());
    EXPECT_EQ(world().size() - 1 - world().rank(), reversed.rank());
}

TEST(NodeTopology, PutsAllRanksOfThisMachineOnOneNode) {
    const auto topology = find_nodes(world().group(), 0);

    EXPECT_EQ(1, topology.num_nodes);
    EXPECT_EQ(world().rank(), topology.rank_in_node);
    EXPECT_EQ(world().size(), topology.ranks_on_node);
    EXPECT_TRUE(topology.is_uniform);
    EXPECT_FALSE(machine_name().empty());
}

TEST(NodeTopology, PretendsAsManyNodesAsAsked) {
    const auto topology = find_nodes(world().group(), world().size());

    EXPECT_EQ(world().size(), topology.num_nodes);
    EXPECT_EQ(world().rank(), topology.node);
    EXPECT_EQ(0, topology.rank_in_node);
}

}  // namespace
}  // namespace ziggurat::comm
