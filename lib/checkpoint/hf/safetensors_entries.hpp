/// Entries in the JSON header of a safetensors file, before they are checked against each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/hf/safetensors_header.hpp"

namespace ziggurat::checkpoint::hf {

/// Name of a map of texts in the header, next to the tensors.
inline constexpr const char* header_metadata_key = "__metadata__";

/// Maximum number of tensors of a file or an index. It bounds the memory of a hostile header.
inline constexpr std::size_t max_tensors = 1'000'000;

struct HeaderEntries {
    std::vector<FileTensor> tensors;                            ///< sorted by name
    std::vector<std::pair<std::string, std::string>> metadata;  ///< of `__metadata__`, sorted by name
};

/// Parses a header without a document tree: time and memory are linear in its size.
///
/// Each tensor has a known type, a shape and a range of bytes of that size within the data. No name occurs
/// twice.
///
/// Source: the format's description and reference implementation, huggingface/safetensors
/// Errors: Error{checkpoint} that names the file and the tensor
HeaderEntries read_header_entries(std::string_view header, std::int64_t data_bytes, const std::string& path);

/// Throws the Error{checkpoint} of an invalid file.
[[noreturn]] void refuse_model_file(const std::string& path, const std::string& reason);

}  // namespace ziggurat::checkpoint::hf
