/// The header of a safetensors file: its tensors by name, type, shape and place, held against the file's
/// size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::checkpoint::hf {

/// A tensor of a safetensors file: values row by row, little-endian.
struct FileTensor {
    std::string name;
    std::string type;  ///< as the file says it: `BF16`
    std::vector<std::int64_t> shape;
    std::int64_t begin_bytes = 0;  ///< in the data behind the header
    std::int64_t end_bytes = 0;

    std::int64_t elements() const noexcept;
    bool operator==(const FileTensor&) const = default;
};

/// Longest header, as the reference implementation has it.
inline constexpr std::int64_t most_header_bytes = 100'000'000;

/// What a header holds.
struct FileHeader {
    std::vector<FileTensor> tensors;  ///< by location; each byte of the data belongs to one of them
    /// Second names of tensors, by which a tensor that a model has twice is stored once, with the stored
    /// name: safetensors.torch.save_model writes them into `__metadata__`.
    std::map<std::string, std::string> stored_names;
};

/// Reads the header of a file.
///
/// Source:  the format's description and reference implementation, huggingface/safetensors
///
/// \param header      the JSON behind the first eight bytes
/// \param data_bytes  of the file behind it
/// \param path        of the file, for messages
/// Errors:  Error{checkpoint}, for any text at all, that names file, tensor and offset
FileHeader parse_header(std::string_view header, std::int64_t data_bytes, const std::string& path);

/// The header of a file whose tensors, in this order, lie behind each other; its length is a multiple of 8,
/// as the format asks for.
std::string header_text(const std::vector<FileTensor>& tensors);

}  // namespace ziggurat::checkpoint::hf
