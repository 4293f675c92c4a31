/// Unused memory of an arena, with the time at which it was released.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ziggurat::schedule {

/// Policy that selects the free memory for a buffer.
enum class FitPolicy {
    smallest,  ///< at the begin of the smallest free range that holds it: keeps the arena small
    oldest     ///< at the bytes that were released the longest ago: keeps waits short
};

/// Free ranges of an arena that grows at its end.
class FreeList {
  public:
    /// Starts at `begin`, without memory.
    explicit FreeList(std::int64_t begin) : end_{begin} {}

    std::int64_t end() const noexcept { return end_; }

    /// Adds memory up to `end`, released at `time`.
    void grow_to(std::int64_t end, std::int64_t time);

    /// Allocates `bytes` and returns their begin. The arena grows if no free range is large enough.
    std::int64_t take(std::int64_t bytes, std::int64_t alignment, FitPolicy fit);

    void release(std::int64_t begin, std::int64_t bytes, std::int64_t time);

    /// Returns the number of segments whose age was read, which is most of the work.
    std::int64_t segments_read() const noexcept { return segments_read_; }

  private:
    struct Segment {
        std::int64_t begin = 0;
        std::int64_t bytes = 0;
        std::int64_t time = 0;  ///< time of its release

        std::int64_t end() const noexcept { return begin + bytes; }
    };
    /// Sorted by begin; adjacent segments of one time are merged. A vector, because it is scanned very
    /// often.
    using Segments = std::vector<Segment>;

    /// Candidate offset with its costs, the most important first.
    struct Candidate {
        std::int64_t time = 0;
        std::int64_t free_bytes = 0;  ///< size of the free range that contains it
        std::int64_t begin = 0;

        auto operator<=>(const Candidate&) const = default;
    };

    /// Adjacent segments, which buffers may span.
    struct Range {
        Segments::const_iterator first, last;
        std::int64_t begin = 0;
        std::int64_t end = 0;

        std::int64_t bytes() const noexcept { return end - begin; }
    };

    /// Replaces `best` by an offset in the range if one is better: the aligned begin of a segment.
    ///
    /// Every other offset contains the same segments as one of these, or more. The search skips all offsets
    /// whose bytes contain a segment that is too young.
    void find_oldest(const Range& range,
                     std::int64_t bytes,
                     std::int64_t alignment,
                     std::optional<Candidate>& best);
    /// Returns the first segment that ends after `position`.
    Segments::iterator first_after(std::int64_t position);
    std::int64_t grow(std::int64_t bytes, std::int64_t alignment);
    void cut(std::int64_t begin, std::int64_t bytes);

    std::int64_t end_;
    Segments free_;
    std::int64_t segments_read_ = 0;
};

}  // namespace ziggurat::schedule
