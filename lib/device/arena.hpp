/// Memory reserved once at start, from which everything else is carved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ziggurat::device {

/// Owns `bytes` of zeroed memory, 2 MiB aligned and backed by huge pages where the system grants them.
///
/// Errors: Error{resource} that names `purpose` and the bytes when the system has no such memory
class Arena {
  public:
    Arena(std::int64_t bytes, const char* purpose);
    ~Arena();
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;

    std::byte* data() const noexcept { return data_; }
    std::int64_t bytes() const noexcept { return bytes_; }

  private:
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
};

}  // namespace ziggurat::device
