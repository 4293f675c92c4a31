/// Small parts of writing a model's folder; only export_*.cpp include it.
#pragma once

#include <string>

namespace ziggurat::checkpoint::hf {

/// Makes the folder where it is not there.
///
/// Errors: Error{deck} when it holds a model or adapters; Error{resource} when it cannot be made
void make_empty_folder(const std::string& folder);

/// Writes a small file as all others: whole, or not under its name.
void write_text(const std::string& path, const std::string& text);

}  // namespace ziggurat::checkpoint::hf
