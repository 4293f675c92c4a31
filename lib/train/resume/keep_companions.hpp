/// Companion files of the Hugging Face model that a run starts from, kept next to its checkpoints.
#pragma once

#include <string>

#include "spec/run_spec.hpp"
#include "train/resume/resume.hpp"

namespace ziggurat::train {

/// Copies the companion files (checkpoint/hf/companion_files.hpp) of the model that a run starts from.
///
/// The run starts from a Hugging Face model, or from a checkpoint of a run that has kept such files. A run
/// that resumes its own checkpoint already has them.
///
/// \param root  the folder of the run's checkpoints
/// Errors: Error{resource}
void keep_companions_of_start(const spec::Model& model, const Resumed& resumed, const std::string& root);

}  // namespace ziggurat::train
