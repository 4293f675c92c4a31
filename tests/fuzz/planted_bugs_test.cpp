/// The fuzz finds what it is for: each of several bugs, planted in the programs of twenty random decks, shows
/// in at least one of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "tests/fuzz/planted_bugs.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/random_deck.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace ziggurat::test {

void PrintTo(const PlantedBug& bug, std::ostream* out) {
    *out << bug.name;
}

namespace {

constexpr int num_decks = 20;

/// Twenty decks, the round in which each is run, and what each gives without a bug.
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

    std::size_t num_rounds() const { return rounds_.size(); }

    /// What the first rank that sees another training than without the bug says of it, on rank 0 of the
    /// world; empty when none does.
    ///
    /// Collective: over the world
    std::string shown_in_round(const PlantedBug& bug, std::size_t round) {
        const int run = rounds_[round][static_cast<std::size_t>(world().rank())];
        const auto group = world().split(run + 1);
        std::string shown;
        if (run >= 0) {
            const auto& deck = decks_[static_cast<std::size_t>(run)];
            auto programs = train::build_programs(deck.run, group.rank());
            if (comm::all_agree(group, plant(bug, deck.seed, programs.train))) {
                const auto spoilt = train_on_made_up_batches(deck.run, group, std::move(programs));
                shown = spoilt.first_difference(expected(run, group));
            }
            shown = shown.empty() ? shown : fmt::format("seed {}: {}", deck.seed, shown);
        }
        for (const auto& said : comm::gather(world(), shown)) {
            if (!said.empty()) {
                return said;
            }
        }
        return {};
    }

  private:
    const TrainingOutcome& expected(int run, const comm::Communicator& group) {
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

class Fuzz : public ::testing::TestWithParam<PlantedBug> {
  protected:
    static void SetUpTestSuite() { trainings_.emplace(); }
    static void TearDownTestSuite() { trainings_.reset(); }

    static std::optional<Trainings> trainings_;
};

std::optional<Trainings> Fuzz::trainings_;

TEST_P(Fuzz, Finds) {
    std::string shown;
    bool is_open = true;
    for (std::size_t round = 0; round < trainings_->num_rounds() && is_open; ++round) {
        shown = trainings_->shown_in_round(GetParam(), round);
        is_open = comm::all_agree(world(), shown.empty());
    }

    EXPECT_FALSE(is_open) << "not found in " << num_decks << " decks";
    if (world().rank() == 0) {
        std::cout << shown << '\n';
    }
}

INSTANTIATE_TEST_SUITE_P(PlantedBugs,
                         Fuzz,
                         ::testing::ValuesIn(planted_bugs().begin(), planted_bugs().end()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace ziggurat::test
