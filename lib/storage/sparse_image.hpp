/// Sparse image of a file in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "storage/direct_file.hpp"

namespace ziggurat::storage {

/// File image that stores only written pages; other pages read as zeros and take no memory.
class SparseImage {
  public:
    void write(std::int64_t offset_bytes, std::span<const std::byte> from);
    void read(std::int64_t offset_bytes, std::span<std::byte> into) const;

    std::int64_t size_bytes() const noexcept { return size_bytes_; }
    void resize(std::int64_t bytes) noexcept { size_bytes_ = bytes; }

  private:
    using Page = std::array<std::byte, static_cast<std::size_t>(page_bytes)>;

    std::map<std::int64_t, std::unique_ptr<Page>> pages_;  // by number
    std::int64_t size_bytes_ = 0;
};

}  // namespace ziggurat::storage
