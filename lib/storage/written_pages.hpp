/// Pages of a run of bytes that were ever written.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace ziggurat::storage {

/// One bit a page, so that what was never written need not be read: it is zero.
///
/// Threads may call at once; whoever asks has come behind those that write the pages in question.
class WrittenPages {
  public:
    explicit WrittenPages(std::int64_t bytes);

    /// Some of the bytes in [offset, offset + bytes) are written, or about to be.
    void note(std::int64_t offset_bytes, std::int64_t bytes);
    /// Whether any page of [offset, offset + bytes) was noted.
    bool any(std::int64_t offset_bytes, std::int64_t bytes) const;

  private:
    mutable std::mutex mutex_;
    std::vector<bool> pages_;
};

}  // namespace ziggurat::storage
