/// Checksums of written cells, to detect corruption when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::storage {

/// Byte range that is divided into cells, each with the checksum of its last write and a write count.
///
/// A cell is always written and read as a whole. Transfers of several cells begin and end at cell boundaries.
///
/// The checksums are in memory, not on the disk. If a disk loses a write, it keeps the earlier bytes, and
/// would also keep their checksum. While a thread writes a cell, no other thread may write or read it; other
/// cells may be used.
///
/// Numerics: XXH3-64; all bytes of a cell that was never written are zero
class ChecksumTable {
  public:
    ChecksumTable() = default;
    /// Divides [0, bytes) into cells of at most `max_bytes`, with boundaries at all of `cuts`.
    ///
    /// With `stripe_bytes` above 0, no cell crosses a multiple of it.
    ChecksumTable(std::int64_t bytes,
                  std::vector<std::int64_t> cuts,
                  std::int64_t max_bytes,
                  std::int64_t stripe_bytes = 0);

    /// Returns false if there are no cells, so that checks are disabled.
    bool is_on() const noexcept { return !begins_.empty(); }
    std::int64_t count() const noexcept { return static_cast<std::int64_t>(cells_.size()); }
    std::int64_t memory_bytes() const noexcept;

    /// Returns the begin or the end of the cell that contains a byte.
    std::int64_t begin_of(std::int64_t offset) const;
    std::int64_t end_of(std::int64_t offset) const;
    /// Returns the last end of a cell in (offset, offset + max_bytes]; the end of a longer cell itself.
    std::int64_t last_end(std::int64_t offset, std::int64_t max_bytes) const;

    /// Records the checksums of `bytes`, whole cells from `offset` on, before they are written.
    void note_written(std::int64_t offset, std::span<const std::byte> bytes);

    /// Checks `bytes`, whole cells from `offset` on, after they were read.
    ///
    /// \param path            path of the file, for messages
    /// \param offset_in_file  offset of the bytes in the file, for messages
    /// Errors: Error{resource} with path, offset and both checksums if they differ from the last write
    void check(std::int64_t offset,
               std::span<const std::byte> bytes,
               const std::string& path,
               std::int64_t offset_in_file) const;

  private:
    struct Cell {
        std::uint64_t checksum = 0;
        std::uint32_t checksum_before = 0;  ///< half of the previous checksum, to detect stale bytes
        std::uint32_t times_written = 0;
    };

    std::size_t index_of(std::int64_t offset) const;
    [[noreturn]] void refuse(const Cell& cell,
                             std::uint64_t found,
                             std::int64_t bytes,
                             const std::string& path,
                             std::int64_t offset_in_file) const;

    std::vector<std::int64_t> begins_;  ///< ascending; the last element is the end of the last cell
    std::vector<Cell> cells_;
};

}  // namespace ziggurat::storage
