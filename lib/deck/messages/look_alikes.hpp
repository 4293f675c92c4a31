/// Characters that web pages, chats and word processors put in the place of those that a deck is made of.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::deck {

/// A sentence about each of them in `line`, from column `column` (in bytes, from 1) to its end or to a
/// comment; three at most. Empty when there is none. The eye cannot tell them from what they look like.
///
///     U+2013 in column 14 is an en dash, not a '-'.
std::string look_alikes(std::string_view line, int column);

}  // namespace ziggurat::deck
