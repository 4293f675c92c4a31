/// A safetensors file open for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/file_handle.hpp"
#include "checkpoint/hf/safetensors_header.hpp"

namespace ziggurat::checkpoint::hf {

/// Reader of one file. Several threads may read at once.
class SafetensorsFile {
  public:
    /// Reads and checks the header.
    /// Errors: Error{checkpoint} if the file does not exist or is invalid; Error{resource} on I/O errors
    explicit SafetensorsFile(std::string path);

    const std::string& path() const noexcept { return path_; }
    /// Tensors by offset.
    const std::vector<FileTensor>& tensors() const noexcept { return header_.tensors; }
    /// Returns FileHeader::stored_names.
    const std::map<std::string, std::string>& stored_names() const noexcept { return header_.stored_names; }

    /// Reads bytes of `tensor` from `offset_bytes` on.
    ///
    /// \pre the range lies within the tensor, which belongs to this file
    /// Errors: Error{checkpoint} if the file has become shorter; Error{resource} on I/O errors
    void read(const FileTensor& tensor, std::int64_t offset_bytes, std::span<std::byte> into) const;

  private:
    /// Rejects a file whose first bytes identify another format.
    void expect_tensors(std::int64_t size) const;
    void read_at(std::int64_t offset_bytes, std::span<std::byte> into, const std::string& what) const;

    std::string path_;
    FileHandle file_;
    std::int64_t data_begin_ = 0;
    FileHeader header_;
};

}  // namespace ziggurat::checkpoint::hf
