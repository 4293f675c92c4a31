#include "comm/watch/node_status_board.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "comm/watch/board_exchange.hpp"

namespace ziggurat::comm {
namespace {

TEST(SharedText, KeepsTextsOfAnyLengthUpToItsOwn) {
    SharedText<24> text;
    EXPECT_EQ("", text.load());
    for (const std::size_t length : {1, 7, 8, 9, 23, 24, 25, 1000, 3}) {
        const std::string all(length, static_cast<char>('a' + length % 26));

        text.store(all);

        EXPECT_EQ(all.substr(0, 24), text.load()) << length;
    }
}

TEST(NodeStatusBoard, IsSeenByAProcessThatOpensIt) {
    NodeStatusBoard board = NodeStatusBoard::create(3);
    ASSERT_GE(board.descriptor(), 0);
    const pid_t parent = getpid();

    const pid_t child = fork();
    if (child == 0) {
        const auto opened = NodeStatusBoard::open(parent, board.descriptor(), 3);
        if (!opened) {
            _exit(1);
        }
        opened->line(2).activity.what.store("layer 7 backward");
        opened->line(2).stage = Stage::failed;
        _exit(opened->claim_verdict({2, 1, 6, "rank 1 has died"}) ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);

    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(0, WEXITSTATUS(status));
    EXPECT_EQ("layer 7 backward", board.line(2).activity.what.load());
    EXPECT_EQ(Stage::failed, board.line(2).stage.load());
    EXPECT_EQ(Stage::running, board.line(1).stage.load());
    const auto verdict = board.verdict();
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ("rank 1 has died", verdict->reason);
}

TEST(NodeStatusBoard, CannotBeOpenedOnceItsDescriptorIsClosed) {
    NodeStatusBoard board = NodeStatusBoard::create(1);
    const int descriptor = board.descriptor();
    ASSERT_TRUE(NodeStatusBoard::open(getpid(), descriptor, 1));

    board.close_descriptor();

    EXPECT_FALSE(NodeStatusBoard::open(getpid(), descriptor, 1));
    board.line(0).exit_code = 5;
    EXPECT_EQ(5, board.line(0).exit_code) << "the mapping keeps the memory";
}

TEST(NodeStatusBoard, KeepsTheFirstVerdict) {
    const NodeStatusBoard board = NodeStatusBoard::create(4);
    EXPECT_FALSE(board.verdict());

    EXPECT_TRUE(board.claim_verdict({3, -1, 6, "the launcher is gone"}));
    EXPECT_FALSE(board.claim_verdict({1, 2, 3, "another story"}));

    const auto verdict = board.verdict();
    ASSERT_TRUE(verdict);
    EXPECT_EQ(3, verdict->author);
    EXPECT_EQ(-1, verdict->culprit);
    EXPECT_EQ(6, verdict->exit_code);
    EXPECT_EQ("the launcher is gone", verdict->reason);
}

/// Returns the number of ranks that received wrong words in a round.
int wrong_ranks(int ranks) {
    const NodeStatusBoard board = NodeStatusBoard::create(ranks);
    std::atomic<int> wrong = 0;
    const auto be_rank = [&](int me) {
        BoardExchange exchange{board, ranks, me};
        bool is_wrong = false;
        for (std::uint64_t round = 0; round < 500; ++round) {
            const std::vector<std::uint64_t> mine(round % (ExchangeSlot::max_words + 1),
                                                  1000 * round + static_cast<std::uint64_t>(me));
            exchange.post(mine);
            while (!exchange.is_complete()) {
                exchange.idle();
            }
            for (int rank = 0; rank < ranks; ++rank) {
                for (const auto word : exchange.words_of(rank).first(mine.size())) {
                    is_wrong = is_wrong || word != 1000 * round + static_cast<std::uint64_t>(rank);
                }
            }
        }
        wrong += is_wrong ? 1 : 0;
    };
    std::vector<std::jthread> threads;
    for (int me = 0; me < ranks; ++me) {
        threads.emplace_back(be_rank, me);
    }
    threads.clear();
    return wrong;
}

TEST(BoardExchange, GivesEveryRankTheWordsOfAllInEveryRound) {
    // Two ranks have no bell of a third one: synchronization through it could make words visible early.
    EXPECT_EQ(0, wrong_ranks(2));
    EXPECT_EQ(0, wrong_ranks(5));
}

}  // namespace
}  // namespace ziggurat::comm
