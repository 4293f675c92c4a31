/// Detection of characters that web pages, chats and word processors substitute for ASCII ones.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::deck {

/// Describes up to three confusable characters in `line`, from column `column` to its end or a comment.
///
/// Columns count bytes from 1. Returns one sentence each, because users cannot see the difference; empty if
/// there are no such characters.
///
///     U+2013 in column 14 is an en dash, not a '-'.
std::string confusables(std::string_view line, int column);

}  // namespace ziggurat::deck
