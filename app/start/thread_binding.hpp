/// Removal of environment variables that bind OpenMP threads to cores.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::app {

/// Returns the variables that were removed, as `NAME=value`; empty if no variable binds threads.
///
/// OpenMP's runtime binds the process to the first of its places when it is loaded, before main and before
/// the rank is known. Ranks that may use all cores would then share one core, and so would all threads that
/// are not OpenMP's. The program therefore removes these variables from its environment before any library
/// is initialized, and uses the cores that its launcher assigned.
std::vector<std::string> binding_set_aside();

/// Restores the variables, for a program that replaces this process and removes them itself.
void put_binding_back();

/// Returns a note to the user about the removed variables; empty if nothing was removed.
std::string binding_note();

}  // namespace ziggurat::app
