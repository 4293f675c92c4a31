/// A text field of JSON lines.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::data {

/// Returns the text of a field of the object on a line; the last one if it occurs twice, as in Python.
///
/// Errors: Error{deck} if the line is not a JSON object with such a text
std::string json_line_field(std::string_view line, const std::string& field);

}  // namespace ziggurat::data
