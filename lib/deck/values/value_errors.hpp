/// Errors about invalid values, with accepted forms and a guess of the intended value.
#pragma once

#include <string>
#include <string_view>

#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// Reports a value with a form that `row` does not accept, or an impossible value such as 105%.
void refuse_form(const Row& row, const std::string& path, const Node& node, Diagnostics& found);

/// Reports a value with a valid form outside of the row's bounds.
void refuse_range(const Row& row, const std::string& path, const Node& node, Diagnostics& found);

/// Returns true if a text of the value has the character NUL, which ends names of files.
bool has_nul(const Node& node);

/// Reports a value with has_nul().
void refuse_nul(const std::string& path, const Node& node, Diagnostics& found);

/// Returns true for a path such as `yes` without quotes, which YAML reads as true or false.
///
/// Returns false for the whole value of an override: in `run.dir=off`, the shell has removed quotes.
///
/// \param path  path of the key, such as `run.dir`
bool is_bare_boolean(const Row& row, const std::string& path, const Node& node);

/// Returns true if `path` begins with `~`, which only shells expand.
bool is_below_home(std::string_view path);

/// Returns the text of `node` in deck syntax.
///
/// \param is_keyword  true if it is a keyword of the row, such as auto
std::string written_as(const Row& row, const Node& node, bool is_keyword);

/// Returns the same text with variables instead of secrets of the environment.
///
/// Empty if it has no secrets, or if the row does not keep them.
std::string written_without_secrets(const Row& row, const Node& node, bool is_keyword);

}  // namespace ziggurat::deck
