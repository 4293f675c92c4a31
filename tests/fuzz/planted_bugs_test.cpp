/// The fuzz tests detect bugs: each planted bug shows in at least one of twenty random decks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "layout/families/attention_window.hpp"
#include "tests/fuzz/planted_bugs.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/random/random_deck.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace ziggurat::test {
namespace {

constexpr int num_decks = 20;

/// A training with a planted bug; empty if no op of the deck can have it.
///
/// Collective: over the ranks of the run
using SpoiltTraining =
    std::function<std::optional<TrainingOutcome>(const RandomDeck& deck, const comm::Context& group)>;

/// Twenty decks, the rounds in which they run, and their results without a bug.
class Trainings {
  public:
    Trainings() {
        const auto first = count_from_environment("ZIGGURAT_FUZZ_SEED", 1);
        std::vector<int> ranks;
        for (std::int64_t i = 0; i < num_decks; ++i) {
            decks_.push_back(random_deck(static_cast<std::uint64_t>(first + i), world().size()));
            ranks.push_back(decks_.back().ranks);
        }
        rounds_ = rounds_of(ranks, world().size());
    }

    /// Returns the first difference from the correct training that a rank found; empty if there is no
    /// difference.
    ///
    /// Collective: over the world
    std::string first_difference(const SpoiltTraining& spoilt) {
        std::string printed;
        for (std::size_t round = 0; round < rounds_.size() && printed.empty(); ++round) {
            for (const auto& by_rank : comm::gather(world(), difference_in(rounds_[round], spoilt))) {
                printed = printed.empty() ? by_rank : printed;
            }
            printed = comm::broadcast(world(), printed);
        }
        return printed;
    }

  private:
    std::string difference_in(const Round& round, const SpoiltTraining& spoilt) {
        const int run = round[static_cast<std::size_t>(world().rank())];
        const auto group = world().group().split(run + 1);
        if (run < 0) {
            return {};
        }
        const auto& deck = decks_[static_cast<std::size_t>(run)];
        const auto outcome = spoilt(deck, world().in(group));
        const auto difference =
            outcome ? outcome->first_difference(expected(run, world().in(group))) : std::string{};
        return difference.empty() ? difference : fmt::format("seed {}: {}", deck.seed, difference);
    }

    const TrainingOutcome& expected(int run, const comm::Context& group) {
        auto& known = expected_[run];
        if (!known) {
            known = train_on_made_up_batches(reference_of(decks_[static_cast<std::size_t>(run)].run), group);
        }
        return *known;
    }

    std::vector<RandomDeck> decks_;
    std::vector<Round> rounds_;
    std::map<int, std::optional<TrainingOutcome>> expected_;
};

class Fuzz : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { trainings_.emplace(); }
    static void TearDownTestSuite() { trainings_.reset(); }

    static void expect_seen(const SpoiltTraining& spoilt) {
        const auto difference = trainings_->first_difference(spoilt);
        EXPECT_NE(difference, "") << "in " << num_decks << " decks";
        if (world().rank() == 0) {
            std::cout << difference << '\n';
        }
    }

  private:
    static std::optional<Trainings> trainings_;
};

std::optional<Trainings> Fuzz::trainings_;

class FuzzForABug : public Fuzz, public ::testing::WithParamInterface<PlantedBug> {};

TEST_P(FuzzForABug, FindsIt) {
    expect_seen([](const RandomDeck& deck, const comm::Context& group) -> std::optional<TrainingOutcome> {
        auto programs = train::build_programs(deck.run, group.rank());
        if (!comm::all_agree(group, plant(GetParam(), deck.seed, programs.train))) {
            return std::nullopt;
        }
        return train_on_made_up_batches(deck.run, group, std::move(programs));
    });
}

TEST_F(Fuzz, SeesAnotherSumGroup) {
    expect_seen([](const RandomDeck& deck, const comm::Context& group) -> std::optional<TrainingOutcome> {
        auto run = deck.run;
        run.sharding.sum_group = run.parallel.data;
        if (run == deck.run) {
            return std::nullopt;
        }
        return train_on_made_up_batches(run, group);
    });
}

TEST_F(Fuzz, SeesAnotherSumPlan) {
    expect_seen([](const RandomDeck& deck, const comm::Context& group) -> std::optional<TrainingOutcome> {
        auto run = deck.run;
        run.sharding.reduce = run.sharding.reduce == spec::ReducePlan::each_microbatch
                                  ? spec::ReducePlan::at_end
                                  : spec::ReducePlan::each_microbatch;
        return train_on_made_up_batches(run, group);
    });
}

TEST_F(Fuzz, SeesAWindowThatIsOffByOne) {
    expect_seen([](const RandomDeck& deck, const comm::Context& group) -> std::optional<TrainingOutcome> {
        auto run = deck.run;
        if (run.model.window == 0 || run.model.window + 1 >= run.data.seq) {
            return std::nullopt;
        }
        ++run.model.window;
        return train_on_made_up_batches(run, group);
    });
}

TEST_F(Fuzz, SeesALayerThatLosesItsWindow) {
    expect_seen([](const RandomDeck& deck, const comm::Context& group) -> std::optional<TrainingOutcome> {
        auto run = deck.run;
        run.model.full_attention_interval = run.model.full_attention_interval == 2 ? 3 : 2;
        if (layout::num_windowed_layers(run) == layout::num_windowed_layers(deck.run)) {
            return std::nullopt;
        }
        return train_on_made_up_batches(run, group);
    });
}

INSTANTIATE_TEST_SUITE_P(PlantedBugs,
                         FuzzForABug,
                         ::testing::ValuesIn(planted_bugs().begin(), planted_bugs().end()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace ziggurat::test
