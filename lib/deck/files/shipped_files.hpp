/// Decks and machine files that are installed with the program.
#pragma once

#include <string>

namespace ziggurat::deck {

/// Returns the executable file of this process; empty if unknown.
std::string this_program();

/// Returns the folder `decks` of the program at `program`; empty if it does not exist.
///
/// Installed programs have share/ziggurat/decks; programs in a build tree use that of the sources.
std::string shipped_decks(const std::string& program = this_program());

/// Returns `path` or, if that does not exist, the file of that name shipped with `program`.
///
/// So `decks/quickstart.yaml` works from any folder.
std::string file_or_shipped(const std::string& path, const std::string& program = this_program());

}  // namespace ziggurat::deck
