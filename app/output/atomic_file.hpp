/// Atomic writing of result files.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::app {

/// Creates the missing folders of an output file. A failure is left to the code that opens the file.
void make_folder_of(const std::string& path);

/// Checks, before a long computation, that `path` can be written. Creates its folder.
///
/// \param remedy  advice for the user if it cannot
/// Errors: Error{resource}
void expect_writable(const std::string& path, const char* remedy);

/// Writes `text` to `path` atomically, through PATH.tmp; replaces an existing file. Creates its folder.
/// Errors: Error{resource}; then an existing file is unchanged
void write_file_atomically(const std::string& path, std::string_view text, const char* remedy);

}  // namespace ziggurat::app
