/// Character classes of Unicode 16 by their names in patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::data {

/// Codes from `first` to `last`, both included.
struct CodeRange {
    std::uint32_t first, last;

    bool operator==(const CodeRange&) const = default;
};

/// Returns the codes of a category, script, property or POSIX class, in ascending order.
///
/// Examples of names are `L`, `Lu`, `Letter`, `Han` and `alpha`. Case, spaces, `_` and `-` in the name do not
/// count. Empty if the table has no such class.
///
/// Source: scripts/unicode_classes.py; Oniguruma 6.9.10, doc/RE, for the definition of POSIX names
std::optional<std::vector<CodeRange>> codes_of_class(std::string_view name);

/// Replaces classes in `expression` by their codes.
///
/// These are `\p{...}`, `\P{...}`, `\w`, `\W`, `\d`, `\D` and `[:...:]`. An engine with older tables then
/// matches by Unicode 16. Names of blocks (`\p{In_...}`) stay, because their codes are the same in all
/// versions.
///
/// Errors: Error{deck} with the name of a class that is in no table
std::string with_unicode_classes(const std::string& expression);

}  // namespace ziggurat::data
