/// Output of a short command.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ziggurat {

/// Returns the standard output of a command that is searched on the PATH; discards its standard error.
///
/// Returns nullopt if the command does not exist, fails, or runs longer than `timeout_seconds`; in the last
/// case it is killed.
std::optional<std::string> command_output(const std::vector<std::string>& command, double timeout_seconds);

}  // namespace ziggurat
