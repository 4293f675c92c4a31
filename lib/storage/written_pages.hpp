/// Set of the pages of a byte range that were ever written.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace ziggurat::storage {

/// Bit set with one bit per page. Pages that were never written are zero and do not have to be read.
///
/// Thread-safe. A reader must be synchronized with the writers of the pages that it asks for.
class WrittenPages {
  public:
    explicit WrittenPages(std::int64_t bytes);

    /// Marks the pages of [offset, offset + bytes) as written.
    void note(std::int64_t offset_bytes, std::int64_t bytes);
    /// Returns true if any page of [offset, offset + bytes) is marked.
    bool any(std::int64_t offset_bytes, std::int64_t bytes) const;

  private:
    mutable std::mutex mutex_;
    std::vector<bool> pages_;
};

}  // namespace ziggurat::storage
