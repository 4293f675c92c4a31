/// Complaints about values that a key does not take, with what it takes and what was probably meant.
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

/// True for a `path` that begins with `~`, which only shells replace.
bool is_below_home(std::string_view path);

/// The text of `node` as a deck says it.
///
/// \param is_word  it is a word of the row, such as auto
std::string written_as(const Row& row, const Node& node, bool is_word);

/// The same with variables for secrets of the environment; empty where it has none, or the row does not keep
/// them.
std::string written_without_secrets(const Row& row, const Node& node, bool is_word);

}  // namespace ziggurat::deck
