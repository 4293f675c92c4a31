/// Checks of the folder that a run writes to.
#pragma once

#include <string>

namespace ziggurat::app {

/// Returns the reason why this process cannot write to the folder at `path`; empty if it can.
///
/// If the folder does not exist, its first existing parent is checked.
std::string not_writable_reason(const std::string& path);

/// Returns `path`, or its first existing parent folder.
std::string first_that_is_there(const std::string& path);

}  // namespace ziggurat::app
