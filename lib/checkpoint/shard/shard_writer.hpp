/// Writer of a shard file whose pieces arrive in parts, in any order of pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"
#include "checkpoint/shard/piece_stream.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "checkpoint/shard/shard_layout.hpp"
#include "checkpoint/shard/shard_output.hpp"

namespace ziggurat::checkpoint {

/// Writes a shard file part by part, for state that passes through memory in its own order.
///
/// Each piece is either written from its source or appended to until it is complete. If finish() is not
/// called, the file is removed. Local; one thread at a time, unless a function states otherwise.
class ShardWriter {
  public:
    /// Allocates the disk space. No box is empty.
    /// Errors: Error{resource}
    ShardWriter(const std::string& folder, int writer, std::vector<Piece> pieces);
    ~ShardWriter();
    ShardWriter(const ShardWriter&) = delete;
    ShardWriter& operator=(const ShardWriter&) = delete;

    const std::string& path() const noexcept { return path_; }
    const std::vector<Piece>& pieces() const noexcept { return pieces_; }
    /// Size of the whole file.
    std::int64_t bytes() const noexcept { return layout_.image.size_bytes(); }

    /// Appends the next bytes of piece `k`. The caller may reuse the memory afterwards.
    ///
    /// \param fd_path  main_output(), or the calling thread's output
    /// Errors: Error{resource}
    void append(std::size_t k, std::span<const std::byte> bytes, ShardOutput& fd_path);
    /// Writes the next block of hash_block_bytes, or the last block, of piece `k`. Not to be combined with
    /// append() for the same piece. The memory must stay unchanged until finish().
    /// Errors: Error{resource}
    void write_block(std::size_t k, std::span<const std::byte> block, ShardOutput& fd_path);
    /// Returns the number of bytes of piece `k` that have been appended.
    std::int64_t bytes_appended(std::size_t k) const noexcept;

    ShardOutput& main_output() noexcept { return output_; }
    /// Returns an output for a second thread, which writes other pieces.
    std::unique_ptr<ShardOutput> companion() const { return output_.companion(); }
    /// \pre the thread has ended
    void join(ShardOutput& other) { output_.join(other); }

    /// Completes the file and flushes it to the disk.
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
    std::vector<std::vector<std::uint64_t>> hashes_;     ///< block hashes of each piece
    ShardOutput output_;
};

}  // namespace ziggurat::checkpoint
