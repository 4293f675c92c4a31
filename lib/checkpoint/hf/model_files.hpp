/// Small parts of writing a model's folder.
#pragma once

#include <string>

namespace ziggurat::checkpoint::hf {

/// Makes the folder where it is not there.
///
/// Errors: Error{deck} when it holds a model or adapters; Error{resource} when it cannot be made
void make_empty_folder(const std::string& folder);

/// Removes what make_empty_folder() would refuse and half-written files of a model that was begun there.
/// \pre make_empty_folder() has let the folder pass: all of that is ours
void remove_begun_model(const std::string& folder);

/// Writes a small file as all others: whole, or not under its name.
void write_text(const std::string& path, const std::string& text);

}  // namespace ziggurat::checkpoint::hf
