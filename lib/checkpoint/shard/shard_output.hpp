/// Output of a shard file to the disk in whole pages, with many writes in flight.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/shard/range_reader.hpp"
#include "storage/aio_queue.hpp"
#include "storage/direct_file.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::checkpoint {

/// XXH3-64 of bytes that arrive in parts.
class StreamHash {
  public:
    StreamHash();
    ~StreamHash();
    StreamHash(const StreamHash&) = delete;
    StreamHash& operator=(const StreamHash&) = delete;

    void add(std::span<const std::byte> bytes);
    std::uint64_t value() const;
    void restart();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Returns the XXH3-64 of all bytes of `rest` outside of `ranges`, in order.
std::uint64_t hash_of_image(const storage::SparseImage& rest, std::vector<FileRange> ranges = {});

/// Writes a file of known size in whole pages, with many writes in flight.
///
/// Pages that lie within one range of bytes are written first, in any order. The ends of ranges are buffered;
/// the pages that contain them are composed and written at the end. So no page is written twice, and none is
/// read.
///
/// Errors: Error{resource}
class ShardOutput {
  public:
    /// Allocates disk space for the whole file.
    ShardOutput(const std::string& path, std::int64_t bytes);

    const std::string& path() const noexcept { return file_.path(); }

    /// Writes the pages that lie wholly within `bytes` and returns the XXH3-64 of `bytes`.
    ///
    /// `bytes` is at most one hash block. A small number of pages is written together with neighbours
    /// instead. The caller's memory of whole pages must stay unchanged until finish(); all other bytes are
    /// copied. Reason for page alignment: ext4 executes unaligned writes one at a time and waits for each,
    /// even those with O_DIRECT. The hash is computed while the bytes are in the cache.
    std::uint64_t write_block(std::int64_t offset_bytes, std::span<const std::byte> bytes);
    /// Writes whole pages that consist of `begin` followed by `end`. Both are copied.
    ///
    /// \pre the offset and the sum of sizes are multiples of the page size
    void write_copied(std::int64_t offset_bytes,
                      std::span<const std::byte> begin,
                      std::span<const std::byte> end);
    /// Copies bytes that share pages with others, for write_other_pages().
    void keep(std::int64_t offset_bytes, std::span<const std::byte> bytes);

    /// Returns an output into the same file for a second thread, which may call only the three functions
    /// above.
    std::unique_ptr<ShardOutput> companion() const;
    /// Waits until the writes of `other` have ended, and adds its pages and buffers to this output.
    void join(ShardOutput& other);

    /// Writes all remaining pages from buffered bytes and, outside of those, from `rest`.
    void write_other_pages(const storage::SparseImage& rest);

    /// Flushes the file to the disk.
    void finish();

  private:
    struct Kept {
        std::int64_t offset_bytes;
        std::vector<std::byte> bytes;
        std::int64_t end() const noexcept { return offset_bytes + std::ssize(bytes); }
    };

    ShardOutput(storage::DirectFile file, std::int64_t bytes);
    void drain();
    std::int64_t free_buffer();
    std::span<std::byte> buffer(std::int64_t index) const;
    void write_composed(std::int64_t first_page, std::int64_t last_page, const storage::SparseImage& rest);

    std::int64_t bytes_;
    std::int64_t num_buffers_;
    StreamHash block_hash_;
    storage::AlignedBuffer memory_;
    std::vector<std::int64_t> free_buffers_;
    std::vector<std::pair<std::int64_t, std::int64_t>> written_;  // pages [first, last)
    std::vector<Kept> kept_;
    storage::DirectFile file_;
    storage::AioQueue queue_;  // last member: destroyed first, and waits for transfers in flight
};

}  // namespace ziggurat::checkpoint
