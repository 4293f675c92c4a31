/// Form of every line that reports a problem to the user.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat {

enum class Severity { error, warning, note };

/// Returns `error`, `warning` or `note`.
const char* name_of(Severity severity);

/// Returns `ziggurat: warning: text`, with terminal control characters of `text` escaped.
///
/// Newlines of `text` are kept; none is appended.
std::string message(Severity severity, std::string_view text);

}  // namespace ziggurat
