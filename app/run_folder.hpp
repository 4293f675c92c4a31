/// Check that a run could write its folder.
#pragma once

#include <string>

namespace ziggurat::app {

/// Why the folder at `path`, or the first of those above it that is there, cannot be written by this process;
/// empty: it can.
std::string why_not_writable(const std::string& path);

}  // namespace ziggurat::app
