/// Checkpoints and kept files of a run that goes on: what it began with is not asked for again.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// The folder of the checkpoints that `run` goes on with, by its keys dir and resume; empty: there is no
/// complete one, and the run begins afresh.
std::string resumed_root(const spec::Run& run);

/// `<root>/published`: config.json and companion files of the model that the run with checkpoints in `root`
/// began with (checkpoint/hf/companion_files.hpp).
std::string kept_folder(const std::string& root);

/// `tokenizer`, or its copy in kept_folder(root) where it belongs to the published model in the folder `base`
/// and is not there any more.
std::string tokenizer_or_kept(const std::string& tokenizer, const std::string& base, const std::string& root);

}  // namespace ziggurat::deck
