/// Documents generated from the schema: reference pages, an editor schema, explanations of single keys.
#pragma once

#include <optional>
#include <string>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// Returns decks/REFERENCE.md: every key with accepted forms, default and meaning.
std::string reference_page();

/// Returns decks/MACHINES.md: the same for machine files.
std::string machine_page();

/// Returns decks/schema.json: JSON Schema (draft 7) of a deck, for editors.
std::string json_schema();

/// Returns the text of `ziggurat check --explain KEY`.
///
/// For an unknown key returns nullopt and sets `meant` to the nearest key.
std::optional<std::string> explain(const std::string& key, std::string& meant);

}  // namespace ziggurat::deck
