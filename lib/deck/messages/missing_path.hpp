/// Notes that say where a file was looked for that is not there.
#pragma once

#include <string>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// What the paths of a deck are relative to, but those of `include`.
inline constexpr const char* paths_begin_at =
    "paths in a deck begin at the folder that the program is started in";

/// Notes at `at` the absolute folder of `path`, which is not there, unless `path` says it, or a note before.
///
/// \param why  what `path` is relative to; may be empty
void note_where_looked(Diagnostics& found,
                       const SourceLocation& at,
                       const std::string& path,
                       const char* why = paths_begin_at);

}  // namespace ziggurat::deck
