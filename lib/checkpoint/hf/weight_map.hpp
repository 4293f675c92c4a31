/// The `weight_map` of an index of safetensors files.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ziggurat::checkpoint::hf {

/// Returns the file of each tensor, in the text of model.safetensors.index.json.
///
/// Time and memory are linear in the text: no document tree is built.
///
/// Errors: Error{checkpoint} that names the index and the tensor
std::map<std::string, std::string> read_weight_map(std::string_view text, const std::string& path);

/// Returns the text of an index that maps each tensor to its file.
std::string index_text(const std::map<std::string, std::string>& file_of_tensor, std::int64_t total_bytes);

}  // namespace ziggurat::checkpoint::hf
