/// Trees of decks that tests change: new nodes, and the text of a tree.
#pragma once

#include <string>

#include "deck/document/node.hpp"

namespace ziggurat::test {

/// Parses a deck.
///
/// Errors: Error{internal} if `text` is not YAML
deck::Node parse_deck(const std::string& text);

deck::Node make_scalar(const std::string& text);

/// Appends an entry with an empty value to a map.
deck::MapEntry& add_entry(deck::Node& map, const std::string& key);

/// Returns the value at `key` of a map; adds an empty one if it does not exist.
deck::Node& value_at(deck::Node& map, const std::string& key);

/// Returns the deck with one line per section.
std::string write_deck(const deck::Node& root);

}  // namespace ziggurat::test
