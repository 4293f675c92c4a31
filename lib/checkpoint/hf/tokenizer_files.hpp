/// Files of a tokenizer, which go with a model to where it is exported.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::checkpoint::hf {

/// Copies what tokenizers of Hugging Face and SentencePiece consist of, as it is there, and gives the names.
/// A file has its name when it is whole and on the disk.
///
/// \param from    the tokenizer's file, or the folder that has it
/// \param folder  is there
/// Errors: Error{resource} when one cannot be read or the disk fails
std::vector<std::string> copy_tokenizer_files(const std::string& from, const std::string& folder);

}  // namespace ziggurat::checkpoint::hf
