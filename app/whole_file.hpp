/// Files of results that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::app {

/// Sees to it that `path` can be written when there is something to write.
///
/// \param remedy  what a person does where it cannot
/// Errors: Error{resource}
void expect_writable(const std::string& path, const char* remedy);

/// Writes `text` to `path`, in the place of what is there, by way of PATH.tmp.
/// Errors: Error{resource}; then what was there is there still
void write_whole(const std::string& path, std::string_view text, const char* remedy);

}  // namespace ziggurat::app
