/// Import of a published model as a checkpoint of step 0.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/hf/hf_weights.hpp"

namespace ziggurat::checkpoint::hf {

struct ImportedModel {
    std::string path;  ///< folder of the checkpoint
    std::int64_t bytes = 0;
    std::int64_t tensors = 0;
};

/// Writes `<root>/step-000000000` with weights only. Local; without MPI.
///
/// A run that starts from it begins with zero moments. Weights of bf16 stay bf16; all others become f32.
///
/// \param deck     the effective deck to record in the checkpoint
/// \param program  version of the program
/// \param on_progress     as for HfWeights::set_progress_callback; may be empty
/// Errors: those of HfWeights::read(); Error{resource} on I/O errors; the checkpoint is then removed
ImportedModel import_model(HfWeights& weights,
                           const std::string& root,
                           const std::string& deck,
                           const std::string& program,
                           std::function<void(std::int64_t, std::int64_t)> on_progress = {});

}  // namespace ziggurat::checkpoint::hf
