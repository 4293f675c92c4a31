/// Output of a short command.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ziggurat {

/// The standard output of a command that is found on the PATH; its errors go nowhere. Nothing when there is
/// no such command, when it fails, and when it has not ended after `patience_seconds`; then it is killed.
///
/// Forks no copy of this process, which MPI's networks would not survive (posix_spawn).
std::optional<std::string> command_output(const std::vector<std::string>& command, double patience_seconds);

}  // namespace ziggurat
