/// Several small runs at a time on the ranks of one job, and what is wrong with them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "tests/support/random_deck.hpp"

namespace ziggurat::test {

/// The deck with its seed, as what fails is printed.
std::string described(const RandomDeck& deck);

/// What is wrong on this rank of a run, in words; empty when nothing is.
///
/// Collective: over `group`, the ranks of the run
using Examination = std::function<std::string(const RandomDeck& deck, const comm::Context& group)>;

/// Examines every deck, several beside each other where there are ranks enough; what is wrong fails the test
/// that is running.
///
/// Collective: over the world
void examine(const std::vector<RandomDeck>& decks, const Examination& examination);

}  // namespace ziggurat::test
