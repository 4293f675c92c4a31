/// Striping of one run of bytes over several files.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::storage {

/// Stripes by turns; a file that has no room for more is left out of further turns. The last stripe may be
/// cut short, and then lies where there is room for that.
class Stripes {
  public:
    struct FilePart {
        int file = 0;
        std::int64_t offset_bytes = 0;  ///< in the file
        std::int64_t bytes = 0;         ///< up to the end of the stripe, or to the end of all in a lone file
    };

    /// \param bytes         in all
    /// \param room_bytes    of each file
    /// \param stripe_bytes  above 0
    /// \pre fits(...)
    Stripes(std::int64_t bytes, const std::vector<std::int64_t>& room_bytes, std::int64_t stripe_bytes);

    /// Whether files of so much room take all of it.
    static bool fits(std::int64_t bytes,
                     const std::vector<std::int64_t>& room_bytes,
                     std::int64_t stripe_bytes);

    /// \pre 0 <= offset_bytes < bytes
    FilePart at(std::int64_t offset_bytes) const;
    std::int64_t bytes_in(int file) const { return bytes_in_.at(static_cast<std::size_t>(file)); }
    /// Boundary that no part goes over; 0 where there is but one file.
    std::int64_t stripe_bytes() const noexcept { return bytes_in_.size() > 1 ? stripe_bytes_ : 0; }

  private:
    /// Deals out `count` stripes, each whole.
    void deal(std::int64_t count, const std::vector<std::int64_t>& room_bytes);

    /// Turns in which the same files take part.
    struct Turns {
        std::int64_t first_stripe = 0;
        std::int64_t first_row = 0;  ///< stripes that each of them has before
        std::vector<int> files = {};
    };

    std::int64_t bytes_;
    std::int64_t stripe_bytes_;
    std::vector<std::int64_t> bytes_in_;
    std::vector<Turns> turns_;
};

}  // namespace ziggurat::storage
