/// Writer of a shard file whose bytes come in parts, in any order of pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"
#include "checkpoint/piece_stream.hpp"
#include "checkpoint/shard_file.hpp"
#include "checkpoint/shard_layout.hpp"
#include "checkpoint/shard_output.hpp"

namespace ziggurat::checkpoint {

/// Writes a shard file by piece and part: for state that passes through memory in an order of its own.
/// Every piece is either written from its source or appended to until it is complete. A file that is not
/// finished is removed. Local; one thread at a time, unless said otherwise.
class ShardWriter {
  public:
    /// Takes the space on disk. No box is empty.
    /// Errors: Error{resource}
    ShardWriter(const std::string& folder, int writer, std::vector<Piece> pieces);
    ~ShardWriter();
    ShardWriter(const ShardWriter&) = delete;
    ShardWriter& operator=(const ShardWriter&) = delete;

    const std::string& path() const noexcept { return path_; }
    const std::vector<Piece>& pieces() const noexcept { return pieces_; }
    /// Bytes of the whole file.
    std::int64_t bytes() const noexcept { return layout_.image.size_bytes(); }

    /// The next bytes of piece `k`; the memory is free for others on return.
    ///
    /// \param way  main_way(), or what beside() gave to the thread that calls this
    /// Errors: Error{resource}
    void append(std::size_t k, std::span<const std::byte> bytes, ShardOutput& way);
    /// The next block of hash_block_bytes, or the last, of piece `k`, of which nothing is appended. The
    /// memory stays as it is until finish().
    /// Errors: Error{resource}
    void write_block(std::size_t k, std::span<const std::byte> block, ShardOutput& way);
    /// Bytes of piece `k` that have been appended.
    std::int64_t bytes_appended(std::size_t k) const noexcept;

    ShardOutput& main_way() noexcept { return output_; }
    /// For a second thread, which works on other pieces.
    std::unique_ptr<ShardOutput> beside() const { return output_.beside(); }
    /// \pre the thread has ended
    void join(ShardOutput& other) { output_.join(other); }

    /// Flushes it to the disk.
    ///
    /// \pre every piece is complete
    /// Errors: Error{resource}
    ShardSummary finish();

  private:
    std::int64_t start_ns_;
    std::vector<Piece> pieces_;
    ShardLayout layout_;
    std::string name_;
    std::string path_;
    bool is_finished_ = false;
    std::vector<std::unique_ptr<PieceStream>> streams_;  ///< of pieces that are appended to
    std::vector<std::vector<std::uint64_t>> hashes_;     ///< of the blocks of each piece
    ShardOutput output_;
};

}  // namespace ziggurat::checkpoint
