/// Check of the deck recorded in a checkpoint.
#pragma once

#include <optional>
#include <string>

namespace ziggurat::checkpoint {

/// Returns the reason why the recorded `deck` cannot be used; nullopt if it can.
///
/// A deck is rejected if it includes files, uses environment variables or is not valid YAML. Keys unknown to
/// this version and an empty text are accepted.
std::optional<std::string> problem_of_deck(const std::string& deck);

}  // namespace ziggurat::checkpoint
