/// The fuzz tests of tiers detect bugs: each planted bug shows in at least one random deck.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/check_races.hpp"
#include "tests/fuzz/moved.hpp"
#include "tests/fuzz/nvme_folder.hpp"
#include "tests/fuzz/planted_tier_bugs.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/random/random_deck.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::test {
namespace {

constexpr std::uint64_t num_decks = 12;
/// For bugs that few decks can have.
constexpr std::uint64_t max_decks = 60;

/// Two steps and an evaluation of the next batch, which show transfers too late for the first step.
constexpr LrScheduleState course{.steps = 2};

/// Describes the difference of a training with the bug; empty if it is correct, or if no op can have
/// the bug.
///
/// Collective: over `group`, the ranks of the deck
std::string difference_in(const RandomDeck& deck, const PlantedBug& bug, const comm::Context& group) {
    auto programs = train::build_programs(deck.run, group.rank());
    if (!comm::all_agree(group, plant(bug, deck.seed, programs.train))) {
        return {};
    }
    const auto plain = without_tiers(deck.run);
    const auto expected =
        train_on_made_up_batches(plain, group, train::build_programs(plain, group.rank()), course);
    return train_on_made_up_batches(deck.run, group, std::move(programs), course).first_difference(expected);
}

class FuzzForATierBug : public ::testing::TestWithParam<PlantedBug> {};

TEST_P(FuzzForATierBug, FindsIt) {
    const NvmeFolder folder;
    std::string printed;
    for (std::uint64_t seed = 1; seed <= max_decks && printed.empty(); ++seed) {
        const auto deck = random_deck_of_tiers(seed, world().size(), folder.path());
        const bool takes_part = world().rank() < deck.ranks;
        const auto group = world().group().split(takes_part ? 1 : 0);
        const auto mine = takes_part ? difference_in(deck, GetParam(), world().in(group)) : std::string{};
        for (const auto& by_rank : comm::gather(world(), mine)) {
            printed =
                printed.empty() && !by_rank.empty() ? fmt::format("seed {}: {}", seed, by_rank) : printed;
        }
        printed = comm::broadcast(world(), printed);
    }
    EXPECT_NE(printed, "") << "in " << max_decks << " decks";
}

/// Checks the waits themselves: on a fast disk, a missing wait may not change results.
TEST(PlantedTierBugs, AWriteThatIsNotWaitedForIsARace) {
    int planted = 0;
    for (std::uint64_t seed = 1; seed <= num_decks; ++seed) {
        const auto deck = random_deck_of_tiers(seed, world().size(), std::filesystem::temp_directory_path());
        auto program = schedule::build_program(deck.run, 0, schedule::Variant::train);
        ASSERT_TRUE(schedule::races(program).empty());
        for (auto& op : program.ops) {
            const auto is_write = [&](int other) {
                return program.ops[static_cast<std::size_t>(other)].kind == schedule::OpKind::write;
            };
            if (op.kind == schedule::OpKind::read &&
                std::erase_if(op.waits_for, is_write) + std::erase_if(op.waits_for_previous_step, is_write) >
                    0) {
                ++planted;
                EXPECT_FALSE(schedule::races(program).empty()) << "seed " << seed << ", " << op.label;
                break;
            }
        }
    }
    EXPECT_GE(planted, 3);
}

/// The check of movement finds fates that programs do not follow.
TEST(PlantedTierBugs, IgnoredFatesAreFound) {
    int found_at = 0;
    for (std::uint64_t seed = 1; seed <= 20 && found_at == 0; ++seed) {
        const auto deck = random_deck_of_tiers(seed, world().size(), std::filesystem::temp_directory_path());
        auto ignoring = deck.run;
        ignoring.recompute.fates.clear();
        const auto program = schedule::build_program(ignoring, 0, schedule::Variant::train);
        found_at = lack_of_fates(deck.run, program).empty() ? 0 : static_cast<int>(seed);
    }
    EXPECT_GT(found_at, 0);
}

INSTANTIATE_TEST_SUITE_P(PlantedBugs,
                         FuzzForATierBug,
                         ::testing::ValuesIn(planted_tier_bugs().begin(), planted_tier_bugs().end()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace ziggurat::test
