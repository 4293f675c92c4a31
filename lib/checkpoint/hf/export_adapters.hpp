/// A checkpoint's adapters in the layout of PEFT.
#pragma once

#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/hf/export_model.hpp"
#include "spec/dtype.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

inline constexpr const char* adapter_config_name = "adapter_config.json";
inline constexpr const char* adapter_file_name = "adapter_model.safetensors";

/// Writes adapter_config.json and adapter_model.safetensors, which peft.PeftModel.from_pretrained reads
/// beside the base model. Local; without MPI.
///
/// A published tensor that holds several of ours, such as one matrix of queries, keys and values, has one
/// adapter there: its A are those of ours one below the other, its B has theirs as blocks, and rank and alpha
/// are those of all, so that it computes the same.
///
/// \param folder  made where it is not there
/// \param base    the base model, as adapter_config.json names it; empty: none
/// Source:   PEFT, src/peft/tuners/lora/config.py (LoraConfig) and utils/save_and_load.py, version 0.13
/// Numerics: as stored, or converted (bf16 to f32 exactly; f32 to bf16 rounded to nearest even)
/// Errors:   those of export_model()
/// \pre model.lora.is_on()
ExportedModel export_adapters(CheckpointReader& reader,
                              const spec::Model& model,
                              const std::string& folder,
                              spec::DType type,
                              const std::string& base);

}  // namespace ziggurat::checkpoint::hf
