/// The header of a safetensors file: types, shapes and offsets, checked against the file size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::checkpoint::hf {

/// A tensor of a safetensors file: little-endian values in row-major order.
struct FileTensor {
    std::string name;
    std::string type;  ///< as the file spells it: `BF16`
    std::vector<std::int64_t> shape;
    std::int64_t begin_bytes = 0;  ///< in the data after the header
    std::int64_t end_bytes = 0;

    std::int64_t elements() const noexcept;
    bool operator==(const FileTensor&) const = default;
};

/// Maximum header size, as in the reference implementation.
inline constexpr std::int64_t max_header_bytes = 100'000'000;

/// Contents of a header.
struct FileHeader {
    std::vector<FileTensor> tensors;  ///< by location; they cover the data without gaps
    /// Maps second names of shared tensors to the names under which they are stored.
    /// safetensors.torch.save_model writes them into `__metadata__`.
    std::map<std::string, std::string> stored_names;
};

/// Parses the header of a file.
///
/// Source:  the format's description and reference implementation, huggingface/safetensors
///
/// \param header      the JSON after the first eight bytes
/// \param data_bytes  size of the data after the header
/// \param path        of the file, for messages
/// Errors:  Error{checkpoint} that names file, tensor and offset; any text is accepted as input
FileHeader parse_header(std::string_view header, std::int64_t data_bytes, const std::string& path);

/// Returns the header of a file with these tensors in this order, without gaps.
///
/// Its length is a multiple of 8, as the format requires.
std::string header_text(const std::vector<FileTensor>& tensors);

}  // namespace ziggurat::checkpoint::hf
