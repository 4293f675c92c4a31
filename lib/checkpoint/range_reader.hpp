/// Reader of many ranges of a file in few large transfers.
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

/// A queue and its memory, for one file after another.
class RangeReader {
  public:
    /// For ranges of at most `most_bytes` each.
    /// Errors: Error{resource}
    explicit RangeReader(std::int64_t most_bytes);

    /// True for ranges of so many bytes that may be asked for.
    bool takes(std::int64_t bytes) const noexcept { return bytes <= buffer_bytes_ - page_bytes; }

    /// Calls `use(k, bytes of ranges[k])` for each range, in order; reads what lies close together at once.
    /// Returns the bytes read.
    ///
    /// \pre ranges are in order and do not overlap
    /// Errors: Error{resource}; whatever `use` throws, when nothing is in flight any more
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
    storage::AioQueue queue_;  // last: it goes first, and waits
};

}  // namespace ziggurat::checkpoint
