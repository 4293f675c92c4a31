/// The schema as documents: for people, for editors, and one key at a time.
#pragma once

#include <optional>
#include <string>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// decks/REFERENCE.md: every key with what it takes, its default and what it means.
std::string reference_page();

/// decks/MACHINES.md: the same of machine files.
std::string machine_page();

/// decks/schema.json: JSON Schema (draft 7) of a deck, for editors.
std::string json_schema();

/// The text of `ziggurat check --explain KEY`; for an unknown key nothing, and `meant` is the nearest one.
std::optional<std::string> explain(const std::string& key, std::string& meant);

}  // namespace ziggurat::deck
