/// Runs several small runs at a time on the ranks of one job, and reports their failures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "tests/support/random/random_deck.hpp"

namespace ziggurat::test {

/// Returns the deck with its seed, as printed for failures.
std::string described(const RandomDeck& deck);

/// Describes the failure on this rank of a run; empty on success.
///
/// Collective: over `group`, the ranks of the run
using Examination = std::function<std::string(const RandomDeck& deck, const comm::Context& group)>;

/// Examines every deck, several at the same time if there are enough ranks. Failures fail the running
/// test.
///
/// Collective: over the world
void examine(const std::vector<RandomDeck>& decks, const Examination& examination);

}  // namespace ziggurat::test
