/// The file in which a rank leaves behind why it has failed.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::comm {

/// Appends the time and `line` to the file at `path`, making its folder. Nobody is left to hear of a failure.
void append_error(const std::string& path, std::string_view line) noexcept;

}  // namespace ziggurat::comm
