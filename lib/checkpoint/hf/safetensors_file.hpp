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

/// Several threads may read at once.
class SafetensorsFile {
  public:
    /// Reads and checks the header.
    /// Errors: Error{checkpoint} when there is no such file, or it is none; Error{resource} when the disk
    /// fails
    explicit SafetensorsFile(std::string path);

    const std::string& path() const noexcept { return path_; }
    /// By place.
    const std::vector<FileTensor>& tensors() const noexcept { return header_.tensors; }
    /// As of FileHeader.
    const std::map<std::string, std::string>& stored_names() const noexcept { return header_.stored_names; }

    /// Bytes of `tensor` from `offset_bytes` on.
    ///
    /// \pre they lie in the tensor, which is one of this file
    /// Errors: Error{checkpoint} when the file has become shorter; Error{resource} when the disk fails
    void read(const FileTensor& tensor, std::int64_t offset_bytes, std::span<std::byte> into) const;

  private:
    /// Rejects a file whose first bytes are those of another kind.
    void expect_tensors(std::int64_t size) const;
    void read_at(std::int64_t offset_bytes, std::span<std::byte> into, const std::string& what) const;

    std::string path_;
    FileHandle file_;
    std::int64_t data_begin_ = 0;
    FileHeader header_;
};

}  // namespace ziggurat::checkpoint::hf
