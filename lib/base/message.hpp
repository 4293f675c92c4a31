/// The form of every line that tells a person of a problem.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat {

enum class Severity { error, warning, note };

/// `error`, `warning` or `note`.
const char* name_of(Severity severity);

/// `ziggurat: warning: text`. Nothing in `text` can steer a terminal; line ends stay, and none is added.
std::string message(Severity severity, std::string_view text);

}  // namespace ziggurat
