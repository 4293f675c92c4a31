/// Writer of a safetensors file; its bytes arrive in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file_handle.hpp"
#include "checkpoint/hf/safetensors_header.hpp"

namespace ziggurat::checkpoint::hf {

/// Writes `PATH.tmp` and renames it to PATH after a flush; without finish() the file is removed.
class SafetensorsWriter {
  public:
    /// \param tensors  in the order of their bytes; offsets are set here
    /// Errors: Error{resource}
    SafetensorsWriter(std::string path, std::vector<FileTensor> tensors);
    ~SafetensorsWriter();
    SafetensorsWriter(const SafetensorsWriter&) = delete;
    SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

    /// Appends the next bytes.
    /// Errors: Error{resource}
    void append(std::span<const std::byte> bytes);

    /// \pre all bytes of all tensors have been appended
    /// Errors: Error{resource}
    void finish();

  private:
    std::string path_;
    std::string unfinished_;
    FileHandle file_;
    std::int64_t written_ = 0;
    std::int64_t size_ = 0;  ///< of the complete file
    bool is_finished_ = false;
};

/// Assigns consecutive offsets to the tensors. Returns the total number of bytes.
std::int64_t assign_offsets(std::vector<FileTensor>& tensors);

}  // namespace ziggurat::checkpoint::hf
