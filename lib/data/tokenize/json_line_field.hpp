/// A text field of JSON lines.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::data {

/// The text of a field of the object on a line; of a field that stands there twice the last, as in Python.
///
/// Errors: Error{deck} when the line is no JSON object with such a text
std::string json_line_field(std::string_view line, const std::string& field);

}  // namespace ziggurat::data
