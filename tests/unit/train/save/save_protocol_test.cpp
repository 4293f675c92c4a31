#include "train/save/save_protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random/draw.hpp"

namespace ziggurat::train {
namespace {

/// Ranks whose writers need a number of steps. Step ends exchange the reports made until then.
class PretendedRanks {
  public:
    explicit PretendedRanks(int ranks) : mine_(static_cast<std::size_t>(ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            protocols_.emplace_back(ranks, rank);
        }
    }

    void begin(const std::vector<int>& steps_of_work, const std::vector<bool>& is_well) {
        left_ = steps_of_work;
        is_well_ = is_well;
        for (auto& protocol : protocols_) {
            protocol.begin();
        }
    }
    /// Makes rank 0 begin to commit.
    void commit(int steps_of_work, bool is_well) {
        left_.front() = steps_of_work;
        is_well_.front() = is_well;
    }

    /// Runs one step of all ranks. Returns the news, which must be equal on all ranks.
    SaveEvent step() {
        StepRequests counts;
        for (std::size_t rank = 0; rank < protocols_.size(); ++rank) {
            if (protocols_[rank].must_report() && left_[rank]-- == 0) {
                protocols_[rank].report_done(is_well_[rank], mine_[rank]);
            }
            for (const auto step_request : {StepRequest::save_ended, StepRequest::save_failed}) {
                counts[step_request] += mine_[rank][step_request];
            }
        }
        std::vector<SaveEvent> message;
        for (std::size_t rank = 0; rank < protocols_.size(); ++rank) {
            message.push_back(protocols_[rank].update(counts, mine_[rank]));
            EXPECT_EQ(message.back(), message.front()) << "rank " << rank;
            EXPECT_EQ(protocols_[rank].phase(), protocols_.front().phase()) << "rank " << rank;
        }
        return message.front();
    }

    SavePhase phase() const { return protocols_.front().phase(); }
    const StepRequests& step_requests(int rank) const { return mine_[static_cast<std::size_t>(rank)]; }

  private:
    std::vector<SaveProtocol> protocols_;
    std::vector<StepRequests> mine_;
    std::vector<int> left_;
    std::vector<bool> is_well_;
};

TEST(SaveProtocol, MovesOnWhenTheSlowestRankHasWritten) {
    PretendedRanks ranks{3};
    ranks.begin({0, 4, 2}, {true, true, true});

    for (int step = 0; step < 4; ++step) {
        ASSERT_EQ(ranks.step(), SaveEvent::none) << step;
    }
    EXPECT_EQ(ranks.step(), SaveEvent::written);
    EXPECT_EQ(ranks.phase(), SavePhase::committing);
    EXPECT_EQ(ranks.step_requests(1)[StepRequest::save_ended], 0) << "what was told would count again";

    ranks.commit(1, true);
    EXPECT_EQ(ranks.step(), SaveEvent::none);
    EXPECT_EQ(ranks.step(), SaveEvent::complete);
    EXPECT_EQ(ranks.phase(), SavePhase::idle);
    EXPECT_EQ(ranks.step(), SaveEvent::none);
}

TEST(SaveProtocol, WaitsForAllEvenWhenOneHasFailed) {
    PretendedRanks ranks{3};
    ranks.begin({0, 0, 3}, {false, true, true});

    EXPECT_EQ(ranks.step(), SaveEvent::none) << "rank 2 still writes into the folder";
    EXPECT_EQ(ranks.step(), SaveEvent::none);
    EXPECT_EQ(ranks.step(), SaveEvent::none);
    EXPECT_EQ(ranks.step(), SaveEvent::not_written);
    EXPECT_EQ(ranks.phase(), SavePhase::idle);
}

TEST(SaveProtocol, TellsAllRanksThatTheCommitHasFailed) {
    PretendedRanks ranks{2};
    ranks.begin({0, 0}, {true, true});
    EXPECT_EQ(ranks.step(), SaveEvent::written);

    ranks.commit(0, false);

    EXPECT_EQ(ranks.step(), SaveEvent::not_complete);
    EXPECT_EQ(ranks.phase(), SavePhase::idle);
}

TEST(SaveProtocol, KeepsRanksAlikeThroughManySavesOfAnyDuration) {
    test::Draw draw{5};
    for (int round = 0; round < 50; ++round) {
        const auto count = static_cast<int>(draw.between(1, 7));
        PretendedRanks ranks{count};
        for (int save = 0; save < 10; ++save) {
            std::vector<int> steps;
            std::vector<bool> is_well;
            for (int rank = 0; rank < count; ++rank) {
                steps.push_back(static_cast<int>(draw.between(0, 6)));
                is_well.push_back(draw.chance(0.9));
            }
            const bool all_well = std::ranges::find(is_well, false) == is_well.end();
            ranks.begin(steps, is_well);
            auto message = SaveEvent::none;
            while ((message = ranks.step()) == SaveEvent::none) {}
            ASSERT_EQ(message, all_well ? SaveEvent::written : SaveEvent::not_written);
            if (!all_well) {
                continue;
            }
            const bool commits = draw.chance(0.9);
            ranks.commit(static_cast<int>(draw.between(0, 3)), commits);
            while ((message = ranks.step()) == SaveEvent::none) {}
            ASSERT_EQ(message, commits ? SaveEvent::complete : SaveEvent::not_complete);
        }
    }
}

}  // namespace
}  // namespace ziggurat::train
