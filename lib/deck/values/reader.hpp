/// Reader of values from a tree, by the schema: unknown keys, types and ranges are judged here.
#pragma once

#include <optional>

#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Expands shorthands in `root`: a scalar in the place of a map becomes the key that it stands for, an alias
/// its target. Maps of decks that include each other can then be merged key by key.
void expand_shorthands(const Schema& schema, Node& root, Diagnostics& found);

/// All values of `root`, defaults filled in. A key with a complaint is marked bad and has no value.
Values read_values(const Schema& schema, const Node& root, Diagnostics& found);

/// The value of `node` by the type of `row`; nothing after a complaint about `path`.
std::optional<DeckValue> read_value(const Row& row,
                                    const std::string& path,
                                    const Node& node,
                                    Diagnostics& found);

/// The value of the word or number `text` at a row without lists; for values that the program makes itself.
DeckValue value_of(const Row& row, const std::string& text);

}  // namespace ziggurat::deck
