/// Writer of a piece that arrives in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/piece.hpp"
#include "checkpoint/shard/shard_output.hpp"

namespace ziggurat::checkpoint {

/// Writes the bytes of one piece in order, in parts of any size. Local.
///
/// The caller may reuse the memory of a part after append(). An incomplete page is buffered until its
/// remaining bytes arrive.
class PieceStream {
  public:
    /// \param offset_bytes  of the piece in the file; a multiple of the page size unless the piece is small
    PieceStream(const Piece& piece, std::int64_t offset_bytes);

    /// Errors: Error{resource}
    void append(std::span<const std::byte> bytes, ShardOutput& output);
    std::int64_t bytes_done() const noexcept { return done_; }
    bool is_complete() const noexcept { return done_ == bytes_; }
    /// Returns the hashes of the piece's blocks. \pre is_complete()
    std::vector<std::uint64_t> take_hashes();

  private:
    void hash(std::span<const std::byte> bytes);

    std::int64_t offset_bytes_;
    std::int64_t bytes_;
    std::int64_t done_ = 0;
    StreamHash block_hash_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::byte> begun_;  ///< bytes of the incomplete page
};

}  // namespace ziggurat::checkpoint
