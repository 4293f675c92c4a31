/// Guess of the word that a misspelt one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// The number of single-character insertions, deletions, replacements and swaps of neighbours between `a` and
/// `b` (Damerau, 1964, in its restricted form).
int edit_distance(std::string_view a, std::string_view b);

/// `text` with its ASCII letters in lower case.
std::string in_small_letters(std::string_view text);

/// The candidate closest to `word`, whatever the case of their letters, or "" when none is close enough to be
/// worth a guess.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace ziggurat::deck
