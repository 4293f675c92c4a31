/// The deck that a run really has.
#pragma once

#include <string>

#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// `values` as a deck: every key of the schema with its resolved value, and its origin as a comment. It loads
/// to the same run wherever the ranks are as many, needs no other file and no variable.
std::string effective_deck(const Schema& schema, const Values& values);

}  // namespace ziggurat::deck
