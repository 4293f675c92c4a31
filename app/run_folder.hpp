/// Checks of the folder that a run writes to.
#pragma once

#include <string>

namespace ziggurat::app {

/// Why the folder at `path`, or the first of those above it that is there, cannot be written by this process;
/// empty: it can.
std::string why_not_writable(const std::string& path);

/// `path`, or the first of the folders above it that exists.
std::string first_that_is_there(const std::string& path);

}  // namespace ziggurat::app
