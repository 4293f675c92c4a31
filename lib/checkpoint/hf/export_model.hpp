/// Export of a checkpoint's weights as a model in the Hugging Face format.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "spec/dtype.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// Default of transformers for the tensor bytes in one file.
inline constexpr std::int64_t usual_file_bytes = 5'000'000'000;

struct ExportedModel {
    std::int64_t bytes = 0;  ///< total of all tensors
    std::int64_t tensors = 0;
    int files = 0;  ///< files with tensors
};

/// Writes config.json and one safetensors file, or shards with an index. Local; without MPI.
///
/// Shards have at most `max_file_bytes`; a larger tensor gets its own shard. Tensors are in the order of
/// their names, as the reference implementation writes them. Memory use is limited to windows of 64 MiB.
///
/// \param folder  created if it does not exist
/// \param usage   more keys of config.json: the result of usage_keys()
/// \param on_progress    called repeatedly with bytes done and in total; may be empty
/// Numerics: as stored, or converted (bf16 to f32 exactly; f32 to bf16 rounded to nearest even); adapters are
///           merged into their weights by MergedWeights
/// Errors:   Error{deck} if the folder already holds a model; Error{checkpoint} if the checkpoint is damaged
///           or of another model; Error{resource} on I/O errors. No incomplete file then has its final name
ExportedModel export_model(CheckpointReader& reader,
                           const spec::Model& model,
                           const std::string& folder,
                           spec::DType type,
                           std::int64_t max_file_bytes = usual_file_bytes,
                           const std::string& usage = "{}",
                           const std::function<void(std::int64_t, std::int64_t)>& on_progress = {});

}  // namespace ziggurat::checkpoint::hf
