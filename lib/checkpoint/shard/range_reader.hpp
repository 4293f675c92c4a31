/// Reader of many ranges of a file with few large transfers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "storage/aio_queue.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::checkpoint {

struct FileRange {
    std::int64_t offset_bytes = 0;
    std::int64_t bytes = 0;
};

/// A queue and its buffers, reused for several files.
class RangeReader {
  public:
    /// \param max_bytes  maximum size of a range
    /// Errors: Error{resource}
    explicit RangeReader(std::int64_t max_bytes);

    /// Returns true if ranges of `bytes` can be read.
    bool takes(std::int64_t bytes) const noexcept { return bytes <= buffer_bytes_ - page_bytes; }

    /// Calls `use(k, bytes of ranges[k])` for each range, in order. Reads ranges that are close together in
    /// one transfer. Returns the number of bytes read.
    ///
    /// \pre ranges are in order and do not overlap
    /// Errors: Error{resource}; exceptions of `use`, after all transfers have ended
    std::int64_t read(storage::DirectFile& file,
                      std::span<const FileRange> ranges,
                      const std::function<void(std::size_t, std::span<const std::byte>)>& use);

  private:
    std::span<std::byte> buffer(std::size_t index) const;
    std::int64_t read_all(storage::DirectFile& file,
                          std::span<const FileRange> ranges,
                          const std::function<void(std::size_t, std::span<const std::byte>)>& use);

    std::int64_t buffer_bytes_;
    std::size_t depth_;
    storage::AlignedBuffer memory_;
    storage::AioQueue queue_;  // last member: destroyed first, and waits
};

}  // namespace ziggurat::checkpoint
