/// Error file: records why a rank has failed.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::comm {

/// Appends the time and `line` to the file at `path`, and creates its folder.
///
/// An error is not reported, because the process ends. If the file or its folder is a symbolic link, nothing
/// is written.
void append_error(const std::string& path, std::string_view line) noexcept;

}  // namespace ziggurat::comm
