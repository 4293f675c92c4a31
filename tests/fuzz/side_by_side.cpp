#include "tests/fuzz/side_by_side.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "comm/control.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::test {
namespace {

std::string examined(const RandomDeck& deck, const comm::Context& group, const Examination& examination) {
    try {
        return examination(deck, group);
    } catch (const std::exception& error) {
        // Other ranks may wait for this one: main ends the job, and no rank gathers the results.
        std::fprintf(stderr, "[rank %d] %s\n%s\n", group.rank(), error.what(), described(deck).c_str());
        throw;
    }
}

}  // namespace

std::string described(const RandomDeck& deck) {
    return fmt::format("seed {} on {} ranks:\n{}", deck.seed, deck.ranks, deck.text);
}

void examine(const std::vector<RandomDeck>& decks, const Examination& examination) {
    std::vector<int> ranks;
    for (const auto& deck : decks) {
        ranks.push_back(deck.ranks);
    }
    for (const auto& round : rounds_of(ranks, world().size())) {
        const int run = round[static_cast<std::size_t>(world().rank())];
        const auto group = world().group().split(run + 1);
        const auto found =
            run < 0 ? std::string{}
                    : examined(decks[static_cast<std::size_t>(run)], world().in(group), examination);
        const auto by_rank = comm::gather(world(), found);
        std::map<int, std::set<std::string>> by_run;  // identical results of its ranks are printed once
        for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
            if (!by_rank[rank].empty()) {
                by_run[round[rank]].insert(by_rank[rank]);
            }
        }
        for (const auto& [failed, differences] : by_run) {
            ADD_FAILURE() << fmt::format("{}\n{}", fmt::join(differences, "\n"),
                                         described(decks[static_cast<std::size_t>(failed)]));
        }
    }
}

}  // namespace ziggurat::test
