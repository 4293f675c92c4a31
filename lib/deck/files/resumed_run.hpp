/// Checkpoints and kept files of a resumed run, which replace its original inputs.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// Returns the folder of checkpoints from which `run` resumes, by its keys dir and resume.
///
/// Empty if it has no complete checkpoint; the run then starts from scratch.
std::string resumed_root(const spec::Run& run);

/// Returns `<root>/published`: the kept files of a run that began with a published model.
///
/// These are config.json and companion files (checkpoint/hf/companion_files.hpp). `root` is the run's folder
/// of checkpoints.
std::string kept_folder(const std::string& root);

/// Returns `tokenizer`, or its copy in kept_folder(root) if the file no longer exists.
///
/// The copy is used only if the tokenizer belongs to the published model in the folder `base`.
std::string tokenizer_or_kept(const std::string& tokenizer, const std::string& base, const std::string& root);

}  // namespace ziggurat::deck
