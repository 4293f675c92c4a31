/// A piece on its way into a file, part by part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/piece.hpp"
#include "checkpoint/shard_output.hpp"

namespace ziggurat::checkpoint {

/// Takes the bytes of one piece in order, in parts of any size, from memory that may be used again at once.
/// Of what does not fill a page nothing is written until the rest of the page comes. Local.
class PieceStream {
  public:
    /// \param offset_bytes  of the piece in the file; a whole page where the piece is not small
    PieceStream(const Piece& piece, std::int64_t offset_bytes);

    /// Errors: Error{resource}
    void append(std::span<const std::byte> bytes, ShardOutput& output);
    std::int64_t bytes_done() const noexcept { return done_; }
    bool is_complete() const noexcept { return done_ == bytes_; }
    /// Of the blocks of the piece. \pre is_complete()
    std::vector<std::uint64_t> take_hashes();

  private:
    void hash(std::span<const std::byte> bytes);

    std::int64_t offset_bytes_;
    std::int64_t bytes_;
    std::int64_t done_ = 0;
    StreamHash block_hash_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::byte> begun_;  ///< of the page that is not full yet
};

}  // namespace ziggurat::checkpoint
