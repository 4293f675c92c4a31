/// Records of the checksums of written cells, so that damage is found when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::storage {

/// A run of bytes cut into cells, each with the checksum of what was written to it last and how often that
/// was. A cell is written whole and read whole; what moves several at a time begins and ends where cells do.
///
/// Records are in memory, not beside the bytes: a disk that loses a write keeps what it had, with its
/// checksum. One thread writes a cell while no other writes or reads it; others may use other cells.
///
/// Numerics: XXH3-64; of a cell never written, all bytes are zero
class CellRecords {
  public:
    CellRecords() = default;
    /// Cells of [0, bytes) that begin at all of `cuts` and are at most `most_bytes` long. With `stripe_bytes`
    /// above 0 none goes over a multiple of it.
    CellRecords(std::int64_t bytes,
                std::vector<std::int64_t> cuts,
                std::int64_t most_bytes,
                std::int64_t stripe_bytes = 0);

    /// False when nothing is recorded.
    bool is_on() const noexcept { return !begins_.empty(); }
    std::int64_t count() const noexcept { return static_cast<std::int64_t>(cells_.size()); }
    std::int64_t memory_bytes() const noexcept;

    /// Begin and end of the cell of a byte.
    std::int64_t begin_of(std::int64_t offset) const;
    std::int64_t end_of(std::int64_t offset) const;
    /// The last end of a cell in (offset, offset + most_bytes]; of the cell itself when it is longer.
    std::int64_t last_end(std::int64_t offset, std::int64_t most_bytes) const;

    /// `bytes`, whole cells from `offset` on, are about to be written.
    void note_written(std::int64_t offset, std::span<const std::byte> bytes);

    /// `bytes`, whole cells from `offset` on, have been read.
    ///
    /// \param path            of the file that they came from,
    /// \param offset_in_file  and where there
    /// Errors: Error{resource} with path, offset and both checksums when they are not what was written last
    void check(std::int64_t offset,
               std::span<const std::byte> bytes,
               const std::string& path,
               std::int64_t offset_in_file) const;

  private:
    struct Cell {
        std::uint64_t checksum = 0;
        std::uint32_t checksum_before = 0;  ///< half of the one that it had before: tells old bytes
        std::uint32_t times_written = 0;
    };

    std::size_t index_of(std::int64_t offset) const;
    [[noreturn]] void refuse(const Cell& cell,
                             std::uint64_t found,
                             std::int64_t bytes,
                             const std::string& path,
                             std::int64_t offset_in_file) const;

    std::vector<std::int64_t> begins_;  ///< ascending, and the end of all
    std::vector<Cell> cells_;
};

}  // namespace ziggurat::storage
