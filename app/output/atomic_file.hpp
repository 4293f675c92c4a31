/// Atomic writing of result files.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::app {

/// Checks, before a long computation, that `path` can be written.
///
/// \param remedy  advice for the user if it cannot
/// Errors: Error{resource}
void expect_writable(const std::string& path, const char* remedy);

/// Writes `text` to `path` atomically, through PATH.tmp; replaces an existing file.
/// Errors: Error{resource}; then an existing file is unchanged
void write_file_atomically(const std::string& path, std::string_view text, const char* remedy);

}  // namespace ziggurat::app
