/// Columns of a terminal that a text takes, and clipping and wrapping to so many.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat {

/// Columns of a printable text in UTF-8: two for the wide characters of East Asia and pictures, none for
/// marks that are set upon the character before; one for a byte that is no UTF-8.
int text_width(std::string_view text);

/// The longest beginning of `text` that takes at most `columns`; whole characters.
std::string_view clipped(std::string_view text, int columns);

/// `text` as it is where it takes at most `columns`; else its beginning and `...`.
std::string shortened(std::string_view text, int columns);

/// `text` as it is where it takes at most `columns`; else `...` and its end, as is best for a path.
std::string shortened_from_left(std::string_view text, int columns);

/// `text` in lines of at most `columns`, broken at blanks; every line but the first begins with `indent`. A
/// word that is longer than a line has one of its own. `columns` 0: one line.
std::string wrapped(std::string_view text, int columns, std::string_view indent);

}  // namespace ziggurat
