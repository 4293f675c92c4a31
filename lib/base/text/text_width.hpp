/// Width of a text in terminal columns; clipping and wrapping to a width.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat {

/// Returns the number of terminal columns of a printable text in UTF-8.
///
/// Wide East Asian characters and emoji take two, combining marks zero, and a byte that is not valid UTF-8
/// one.
int text_width(std::string_view text);

/// Returns the longest prefix of whole characters that takes at most `columns`.
std::string_view clipped(std::string_view text, int columns);

/// Returns `text` if it takes at most `columns`; otherwise its beginning and `...`.
std::string shortened(std::string_view text, int columns);

/// Returns `text` if it takes at most `columns`; otherwise `...` and its end, which suits paths.
std::string shortened_from_left(std::string_view text, int columns);

/// Returns `text` in lines of at most `columns`, broken at blanks.
///
/// Every line but the first begins with `indent`. A word longer than a line gets its own line. `columns` 0:
/// one line.
std::string wrapped(std::string_view text, int columns, std::string_view indent);

/// Returns text of a file or a user as messages show it: printable, and at most `columns` wide.
std::string for_display(std::string_view text, int columns = 100);

}  // namespace ziggurat
