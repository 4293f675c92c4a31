/// Memory of an arena that nothing uses, and since when.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::schedule {

/// Where in the free memory a buffer is placed.
enum class Fit {
    smallest,  ///< at the begin of the smallest free range that holds it: the arena stays small
    oldest     ///< where the bytes were last given back the longest ago: least is waited for
};

/// Free ranges of an arena that grows at its end.
class FreeList {
  public:
    /// From `begin` on, with no memory yet.
    explicit FreeList(std::int64_t begin) : end_{begin} {}

    std::int64_t end() const noexcept { return end_; }

    /// Gets memory up to `end`, given back at `time`.
    void grow_to(std::int64_t end, std::int64_t time);

    /// Where `bytes` begin that are now in use; the arena grows when no free range holds them.
    std::int64_t take(std::int64_t bytes, std::int64_t alignment, Fit fit);

    void give_back(std::int64_t begin, std::int64_t bytes, std::int64_t time);

    /// How often the ages of all that a place covers were compared: most of the work. Places that begin in
    /// bytes younger than the best place are passed over.
    std::int64_t places_weighed() const noexcept { return places_weighed_; }

  private:
    struct Segment {
        std::int64_t begin = 0;
        std::int64_t bytes = 0;
        std::int64_t time = 0;  ///< when it was given back

        std::int64_t end() const noexcept { return begin + bytes; }
    };
    /// By begin; neighbours of one time are one. Looked through again and again, so it is no tree.
    using Segments = std::vector<Segment>;

    /// A place and what speaks against it, the first the most.
    struct Candidate {
        std::int64_t time = 0;
        std::int64_t free_bytes = 0;  ///< of the range in which it lies
        std::int64_t begin = 0;

        auto operator<=>(const Candidate&) const = default;
    };

    /// The last time at which some of [begin, begin + bytes), all free from `segment` on, was given back; any
    /// time behind `most` when it is behind that.
    std::int64_t newest(Segments::const_iterator segment,
                        std::int64_t begin,
                        std::int64_t bytes,
                        std::int64_t most) const;
    /// The first that ends behind `place`.
    Segments::iterator behind(std::int64_t place);
    std::int64_t grow(std::int64_t bytes, std::int64_t alignment);
    void cut(std::int64_t begin, std::int64_t bytes);

    std::int64_t end_;
    Segments free_;
    std::int64_t places_weighed_ = 0;
};

}  // namespace ziggurat::schedule
