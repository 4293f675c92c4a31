/// Sharding never changes the training: random decks against the same training with replicated state.
///
/// Runs ZIGGURAT_FUZZ decks, from seed ZIGGURAT_FUZZ_SEED on. A failing deck is printed in a form that
/// `ziggurat train` accepts in the root of the sources.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "deck/load.hpp"
#include "tests/fuzz/side_by_side.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/random/random_deck.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace ziggurat::test {
namespace {

std::vector<RandomDeck> random_decks() {
    const auto first = count_from_environment("ZIGGURAT_FUZZ_SEED", 1);
    std::vector<RandomDeck> decks;
    for (std::int64_t i = 0; i < count_from_environment("ZIGGURAT_FUZZ", 20); ++i) {
        decks.push_back(random_deck(static_cast<std::uint64_t>(first + i), world().size()));
    }
    return decks;
}

/// Prints the coverage of the drawn decks, and the rules that rejected some.
void print_draws(const std::vector<RandomDeck>& decks) {
    Coverage coverage;
    std::map<std::string, int> reasons;
    std::size_t refused = 0;
    for (const auto& deck : decks) {
        coverage.note(deck.run);
        coverage.note("ranks", std::to_string(deck.ranks));
        coverage.note("sum group", std::to_string(deck.run.sharding.sum_group));
        coverage.note("pretended nodes", std::to_string(deck.run.debug.nodes));
        refused += deck.refusals.size();
        for (const auto& refusal : deck.refusals) {
            ++reasons[refusal.substr(0, refusal.find_first_of("=:"))];
        }
    }
    std::cout << fmt::format("{} of {} draws were refused by the rules:", refused, refused + decks.size());
    for (const auto& [reason, times] : reasons) {
        std::cout << fmt::format(" [{}] x{}", reason, times);
    }
    std::cout << '\n' << (decks.size() == 1 ? described(decks.front()) : coverage.report());
}

TEST(RandomDecks, LeaveTheBitsOfReplicatedStateAndSendWhatTheFormulasSay) {
    const auto decks = random_decks();
    if (world().rank() == 0) {
        print_draws(decks);
    }
    examine(decks, [](const RandomDeck& deck, const comm::Context& group) {
        const auto ours = train_on_made_up_batches(deck.run, group);
        const auto expected = [&] {
            const OnHost on_host;
            return train_on_made_up_batches(reference_of(deck.run), group);
        }();
        const auto volumes = volume_difference(deck.run, group, ours);
        const auto difference = ours.first_difference(expected);
        return difference.empty() ? volumes : difference;
    });
}

TEST(RandomDecks, GiveTheSameRunAsTheirEffectiveDecks) {
    for (const auto& deck : random_decks()) {
        deck::LoadOptions options;
        options.ranks = deck.ranks;
        options.threads = 1;
        const auto first = deck::load_text(deck.text, "drawn", {}, options);

        const auto again = deck::load_text(first.effective, "effective", {}, options);

        EXPECT_TRUE(again.ok() && again.run == first.run) << again.found.print() << described(deck);
    }
}

}  // namespace
}  // namespace ziggurat::test
