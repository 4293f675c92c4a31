/// Check of the deck recorded in a checkpoint, and the run that it names.
#pragma once

#include <optional>
#include <string>

namespace ziggurat::checkpoint {

/// Returns the reason why the recorded `deck` cannot be used; nullopt if it can.
///
/// A deck is rejected if it includes files, uses environment variables or is not valid YAML. Keys unknown to
/// this version and an empty text are accepted.
std::optional<std::string> problem_of_deck(const std::string& deck);

/// Returns the run directory in the recorded `deck`, with the folder that it is relative to.
///
/// nullopt if the deck does not name it or cannot be read.
std::optional<std::string> recorded_run_of(const std::string& deck);

}  // namespace ziggurat::checkpoint
