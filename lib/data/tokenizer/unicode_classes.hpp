/// Classes of characters by the names that patterns give them, of Unicode 16.
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

/// The codes of a category, a script, a property or a POSIX class, such as `L`, `Lu`, `Letter`, `Han` or
/// `alpha`, in rising order. Case, spaces, `_` and `-` in the name do not count. Nothing if the table has no
/// such class.
///
/// Source: scripts/unicode_classes.py; Oniguruma 6.9.10, doc/RE, for what POSIX names stand for
std::optional<std::vector<CodeRange>> codes_of_class(std::string_view name);

/// `expression` with the codes themselves in the place of `\p{...}`, `\P{...}`, `\w`, `\W`, `\d`, `\D` and
/// `[:...:]`, so that an engine with older tables matches by those of Unicode 16. Names of blocks
/// (`\p{In_...}`) stay, whose codes are the same in all versions.
///
/// Errors: Error{deck} with the name of a class that is in no table
std::string with_unicode_classes(const std::string& expression);

}  // namespace ziggurat::data
