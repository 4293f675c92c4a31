/// Error file, in which a rank leaves behind why it has failed.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::comm {

/// Appends the time and `line` to the file at `path`, making its folder. A failure to do so is not reported:
/// the process ends.
void append_error(const std::string& path, std::string_view line) noexcept;

}  // namespace ziggurat::comm
