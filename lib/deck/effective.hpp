/// Effective decks: every value of a run written out, and read back where a run has recorded it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "deck/messages/diagnostics.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Secrets of the environment in an effective deck.
enum class Secrets {
    hidden,  ///< as variables: for files, and for people
    told,    ///< for other ranks, whose environment may lack them
};

/// `values` as a deck: every key of the schema with its resolved value, and its origin as a comment. It loads
/// to the same run wherever the ranks are as many, needs no other file, and no variable but hidden secrets.
std::string effective_deck(const Schema& schema, const Values& values, Secrets secrets = Secrets::hidden);

/// The origin that line `line`, from 1, of an effective deck tells; nothing where it has no comment.
std::optional<Origin> origin_in(std::string_view text, int line);

/// The values of `text`, an effective deck that a run has recorded, each with the origin that it had in that
/// run: the comment beside it. A key that the text does not have has its default. Nothing, after complaints,
/// for a text that is no deck of this version, includes files or asks for the environment. A hidden secret is
/// the text `${env:NAME}`: the environment is not looked at.
///
/// \param name  stands for its file in messages
std::optional<Values> read_effective_deck(const Schema& schema,
                                          const std::string& text,
                                          const std::string& name,
                                          Diagnostics& found);

}  // namespace ziggurat::deck
