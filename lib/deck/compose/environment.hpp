/// Environment variables for decks.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ziggurat::deck {

/// Returns the value of an environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process.
std::optional<std::string> process_environment(const std::string& name);

}  // namespace ziggurat::deck
