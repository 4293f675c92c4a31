/// Decks and descriptions of machines that come with the program, wherever it lies.
#pragma once

#include <string>

namespace ziggurat::deck {

/// The file of this process's program; empty where the system does not say.
std::string this_program();

/// The folder `decks` that belongs to the program at `program`: share/ziggurat/decks of where it is
/// installed, that of the sources in a build tree; empty: there is none.
std::string shipped_decks(const std::string& program = this_program());

/// `path`, or, where nothing is there, the file of that name that comes with the program at `program`:
/// `decks/quickstart.yaml`, from any folder.
std::string file_or_shipped(const std::string& path, const std::string& program = this_program());

}  // namespace ziggurat::deck
