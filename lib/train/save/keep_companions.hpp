/// Companion files of the published model that a run's weights come from, kept beside its checkpoints.
#pragma once

#include <string>

#include "spec/run_spec.hpp"
#include "train/save/resume.hpp"

namespace ziggurat::train {

/// Keeps them (checkpoint/hf/companion_files.hpp) for a run that begins with a published model, or with
/// a checkpoint of a run that has kept some; a run that resumes its own checkpoint has them already.
///
/// \param root  the folder of the run's checkpoints
/// Errors: Error{resource}
void keep_companions_of_start(const spec::Model& model, const Resumed& resumed, const std::string& root);

}  // namespace ziggurat::train
