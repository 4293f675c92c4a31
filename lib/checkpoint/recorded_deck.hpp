/// Check of the deck that a checkpoint keeps.
#pragma once

#include <optional>
#include <string>

namespace ziggurat::checkpoint {

/// The reason for which `deck`, that of a checkpoint, cannot be taken: it includes files, asks for the
/// environment, or is no text of a deck. Nothing for a deck with keys that this version does not know, and
/// for an empty one.
std::optional<std::string> problem_of_deck(const std::string& deck);

}  // namespace ziggurat::checkpoint
