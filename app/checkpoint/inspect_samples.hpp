/// Sample files, as text and as JSON.
#pragma once

#include <string>

#include "app/checkpoint/checkpoint_options.hpp"

namespace ziggurat::app {

/// Returns true if `path` is a file that begins like a sample file.
bool is_sample_path(const std::string& path);

/// Prints the header of a sample file, and one of its samples with the tokens that count in the loss.
///
/// On a terminal with colours, these tokens are coloured; else they are between ⟦ and ⟧.
///
/// Errors: Error{deck} if the file is damaged, the sample does not exist, or the tokenizer is not the file's
int inspect_samples(const InspectOptions& options);

}  // namespace ziggurat::app
