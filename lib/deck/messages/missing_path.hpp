/// Notes about the folder in which a missing file was expected.
#pragma once

#include <string>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// Base folder of the paths in a deck, except those of `include`.
inline constexpr const char* paths_begin_at =
    "paths in a deck are relative to the folder in which the program was started";

/// Adds a note at `at` with the absolute folder of the missing `path`.
///
/// Adds no note if `path` is absolute, or if an earlier note has reported the folder.
///
/// \param reason  the base of `path`; may be empty
void note_where_looked(Diagnostics& found,
                       const SourceLocation& at,
                       const std::string& path,
                       const char* reason = paths_begin_at);

}  // namespace ziggurat::deck
