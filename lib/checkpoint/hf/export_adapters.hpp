/// Export of a checkpoint's adapters in the layout of PEFT.
#pragma once

#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/hf/export_model.hpp"
#include "spec/dtype.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

inline constexpr const char* adapter_config_name = "adapter_config.json";
inline constexpr const char* adapter_file_name = "adapter_model.safetensors";

/// Writes adapter_config.json and adapter_model.safetensors. Local; without MPI.
///
/// peft.PeftModel.from_pretrained reads them together with the base model.
///
/// A published tensor that fuses several model tensors, such as queries, keys and values, gets one adapter.
/// Its A stacks their A matrices by rows, its B holds their B matrices as diagonal blocks. Rank and alpha are
/// sums, so the result is the same.
///
/// \param folder  created if it does not exist
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
