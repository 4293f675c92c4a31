/// Reader of values from a tree by the schema; checks keys, types and ranges.
#pragma once

#include <optional>

#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Expands shorthands in `root`: scalars that stand for maps become keys, aliases their targets.
///
/// Maps of including and included decks can then be merged key by key.
void expand_shorthands(const Schema& schema, Node& root, Diagnostics& found);

/// Reads all values of `root` and adds defaults. A key with an error is marked bad and has no value.
Values read_values(const Schema& schema, const Node& root, Diagnostics& found);

/// Reads the value of `node` by the type of `row`; nullopt after an error about `path`.
std::optional<DeckValue> read_value(const Row& row,
                                    const std::string& path,
                                    const Node& node,
                                    Diagnostics& found);

/// Returns the tree of a value in deck syntax, without a location.
///
/// \pre `text` is a scalar, or a valid list or map in brackets
Node node_of(const std::string& text);

/// Returns the value of a keyword or number `text` for a row without lists, for internal values.
DeckValue value_of(const Row& row, const std::string& text);

}  // namespace ziggurat::deck
