/// A checkpoint's weights as a model in the Hugging Face format.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "spec/dtype.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// Bytes of tensors in one file that transformers writes by default.
inline constexpr std::int64_t usual_file_bytes = 5'000'000'000;

struct ExportedModel {
    std::int64_t bytes = 0;  ///< of tensors
    std::int64_t tensors = 0;
    int files = 0;  ///< with tensors
};

/// Writes config.json and one safetensors file, or shards of at most `most_file_bytes` (a larger tensor has
/// one of its own) with an index. Tensors lie in the order of their names, as the reference implementation
/// writes them; what passes through memory at a time are windows of 64 MiB. Local; without MPI.
///
/// \param folder  made where it is not there
/// \param usage   more keys of config.json, as of usage_keys()
/// \param told    called at times with bytes done and in all; may be empty
/// Numerics: as stored, or converted (bf16 to f32 exactly; f32 to bf16 rounded to nearest even); adapters are
///           merged into their weights as MergedWeights says
/// Errors:   Error{deck} when the folder holds a model; Error{checkpoint} when the checkpoint is damaged or
/// of
///           another model; Error{resource} when the disk fails. No file is then under its name that is not
///           whole
ExportedModel export_model(CheckpointReader& reader,
                           const spec::Model& model,
                           const std::string& folder,
                           spec::DType type,
                           std::int64_t most_file_bytes = usual_file_bytes,
                           const std::string& usage = "{}",
                           const std::function<void(std::int64_t, std::int64_t)>& told = {});

}  // namespace ziggurat::checkpoint::hf
