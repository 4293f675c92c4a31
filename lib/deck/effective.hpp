/// Effective decks: writer of a run's complete values, and reader of a recorded effective deck.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "deck/messages/diagnostics.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Treatment of secrets of the environment in an effective deck.
enum class SecretPolicy {
    masked,   ///< as variables: for files and messages
    exposed,  ///< as values: for other ranks, whose environment may lack them
};

/// Returns `values` as a deck: every key with its resolved value, and its origin as a comment.
///
/// On the same number of ranks it loads to the same run. It needs no other file, and no variables except
/// hidden secrets.
std::string effective_deck(const Schema& schema,
                           const Values& values,
                           SecretPolicy secrets = SecretPolicy::masked);

/// Returns the effective deck `text` in which the line of `key` has its value in `values`.
///
/// Other lines stay.
/// \param key  not in a list; a text without it is returned unchanged
std::string with_value_of(const std::string& text, const Values& values, const std::string& key);

/// Returns the origin in the comment of line `line` (from 1); nullopt if it has no comment.
std::optional<Origin> origin_in(std::string_view text, int line);

/// Parses the effective deck of a recorded run; each value gets the origin in its comment.
///
/// A key that `text` lacks gets its default. Returns nullopt, after errors, for a text that is not a deck of
/// this version, includes files or uses environment variables. A hidden secret is read as the text
/// `${env:NAME}`; the environment is not read.
///
/// \param name  file name for messages
std::optional<Values> read_effective_deck(const Schema& schema,
                                          const std::string& text,
                                          const std::string& name,
                                          Diagnostics& found);

}  // namespace ziggurat::deck
