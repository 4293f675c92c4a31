/// Guesses of the intended word for a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// Returns the edit distance between `a` and `b`.
///
/// Counts single-character insertions, deletions, replacements and swaps of neighbours (Damerau, 1964,
/// restricted form).
int edit_distance(std::string_view a, std::string_view b);

/// Returns `text` with its ASCII letters in lower case.
std::string in_small_letters(std::string_view text);

/// Returns the candidate closest to `keyword`, ignoring case, or "" if no candidate is close enough.
std::string nearest(std::string_view keyword, const std::vector<std::string_view>& candidates);

}  // namespace ziggurat::deck
