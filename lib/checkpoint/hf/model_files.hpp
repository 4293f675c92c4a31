/// Helpers for writing a model's folder.
#pragma once

#include <string>

namespace ziggurat::checkpoint::hf {

/// Creates the folder if it does not exist.
///
/// Errors: Error{deck} if it already holds a model or adapters; Error{resource} if it cannot be created
void make_empty_folder(const std::string& folder);

/// Removes files that make_empty_folder() would reject, and incomplete files of an export.
/// \pre make_empty_folder() has accepted the folder, so this export created all of them
void remove_begun_model(const std::string& folder);

/// Writes a small file; it gets its final name only after it is complete.
void write_text(const std::string& path, const std::string& text);

}  // namespace ziggurat::checkpoint::hf
