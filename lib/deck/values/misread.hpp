/// Complaints about a value that a key does not take: what is wrong with it, what is right, what was meant.
#pragma once

#include <string>
#include <string_view>

#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// Complains about a value of another form than `row` takes, or that no value of its form can be, as 105%.
void refuse_form(const Row& row, const std::string& path, const Node& node, Diagnostics& found);

/// Complains about a value of the right form beyond the row's bounds.
void refuse_range(const Row& row, const std::string& path, const Node& node, Diagnostics& found);

/// Whether `path` begins with `~`, which shells replace and nobody else does.
bool is_below_home(std::string_view path);

/// The text of `node` as a deck says it.
///
/// \param is_word  it is a word of the row, such as auto
std::string written_as(const Row& row, const Node& node, bool is_word);

}  // namespace ziggurat::deck
