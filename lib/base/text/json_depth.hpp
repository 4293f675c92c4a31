/// Nesting depth of JSON, checked before parsing.
#pragma once

#include <string_view>

namespace ziggurat {

/// True if brackets in `text` nest deeper than `levels`.
///
/// Text that is not valid JSON is also scanned to its end. JSON libraries use one call, or one stack frame,
/// per level when they copy or print a parsed value. So check files of unknown origin with this function
/// first.
bool is_json_deeper(std::string_view text, int levels) noexcept;

}  // namespace ziggurat
