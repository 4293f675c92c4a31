/// Striping of one range of bytes over several files.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::storage {

/// Round-robin mapping of stripes to files; a file without free space is skipped in later rounds.
///
/// The last stripe may be shorter. It is then in a file that has space for it.
class Stripes {
  public:
    struct FilePart {
        int file = 0;
        std::int64_t offset_bytes = 0;  ///< offset in the file
        std::int64_t bytes = 0;         ///< bytes up to the end of the stripe; of a single file, to its end
    };

    /// \param bytes         total size
    /// \param room_bytes    space for each file
    /// \param stripe_bytes  above 0
    /// \pre fits(...)
    Stripes(std::int64_t bytes, const std::vector<std::int64_t>& room_bytes, std::int64_t stripe_bytes);

    /// Returns true if `bytes` fit into files with these maximum sizes.
    static bool fits(std::int64_t bytes,
                     const std::vector<std::int64_t>& room_bytes,
                     std::int64_t stripe_bytes);

    /// \pre 0 <= offset_bytes < bytes
    FilePart at(std::int64_t offset_bytes) const;
    std::int64_t bytes_in(int file) const { return bytes_in_.at(file); }
    /// Returns the size whose multiples no part crosses; 0 if there is only one file.
    std::int64_t stripe_bytes() const noexcept { return bytes_in_.size() > 1 ? stripe_bytes_ : 0; }

  private:
    /// Assigns `count` whole stripes to files.
    void deal(std::int64_t count, const std::vector<std::int64_t>& room_bytes);

    /// Consecutive rounds with the same set of files.
    struct Turns {
        std::int64_t first_stripe = 0;
        std::int64_t first_row = 0;  ///< number of stripes that each of the files has from earlier rounds
        std::vector<int> files = {};
    };

    std::int64_t bytes_;
    std::int64_t stripe_bytes_;
    std::vector<std::int64_t> bytes_in_;
    std::vector<Turns> turns_;
};

}  // namespace ziggurat::storage
