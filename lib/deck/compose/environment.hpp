/// Environment variables that a deck may ask for.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ziggurat::deck {

/// The value of an environment variable, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process.
std::optional<std::string> process_environment(const std::string& name);

}  // namespace ziggurat::deck
