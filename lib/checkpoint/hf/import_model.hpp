/// A published model as a checkpoint of step 0.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/hf/published_weights.hpp"

namespace ziggurat::checkpoint::hf {

struct ImportedModel {
    std::string path;  ///< of the checkpoint
    std::int64_t bytes = 0;
    std::int64_t tensors = 0;
};

/// Writes `<root>/step-000000000`, with weights alone: what is trained from it begins with moments of zero.
/// Those of bf16 stay so; all others are f32. Local; without MPI.
///
/// \param deck     the effective deck that the checkpoint keeps
/// \param program  version of the program
/// \param told     as of PublishedWeights::tell_bytes; may be empty
/// Errors: those of PublishedWeights::read(); Error{resource} when the disk fails; then nothing is left
ImportedModel import_model(PublishedWeights& weights,
                           const std::string& root,
                           const std::string& deck,
                           const std::string& program,
                           std::function<void(std::int64_t, std::int64_t)> told = {});

}  // namespace ziggurat::checkpoint::hf
