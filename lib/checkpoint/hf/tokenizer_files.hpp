/// Files of a tokenizer, which go with a model to where it is exported.
#pragma once

#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// Copies the file of a tokenizer, under the name that transformers looks for, and of a folder of Hugging
/// Face what goes with it there, and gives the names. A file has its name when it is whole and on the disk.
///
/// \param folder  is there
/// \pre tokenizer.has_file()
/// Errors: Error{resource} when one cannot be read or the disk fails
std::vector<std::string> copy_tokenizer_files(const spec::Tokenizer& tokenizer, const std::string& folder);

}  // namespace ziggurat::checkpoint::hf
