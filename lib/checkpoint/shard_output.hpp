/// Output of a shard file to the disk in whole pages, many at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/range_reader.hpp"
#include "storage/aio_queue.hpp"
#include "storage/direct_file.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::checkpoint {

/// The XXH3-64 of bytes that come in parts.
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

/// XXH3-64 of all bytes of `rest` that are not in `ranges`, in order.
std::uint64_t hash_of_image(const storage::SparseImage& rest, std::vector<FileRange> ranges = {});

/// Writes a file of known size in whole pages, many at a time: first those that lie within one run of bytes,
/// in any order, then all others, each put together from what lies in it; the ends of runs are kept until
/// then. So no page is written twice, and none is read.
///
/// Errors: Error{resource}
class ShardOutput {
  public:
    /// Takes the disk space for the whole file.
    ShardOutput(const std::string& path, std::int64_t bytes);

    const std::string& path() const noexcept { return file_.path(); }

    /// Writes the pages that are wholly within `bytes`, at most one block of hashes, unless they are few:
    /// those go with their neighbours. Whole pages of memory are read until finish(), any other bytes are
    /// copied: from between pages ext4 writes one transfer at a time and waits for each, also where direct
    /// ones are granted. Returns the XXH3-64 of `bytes`, taken while they are in the cache.
    std::uint64_t write_block(std::int64_t offset_bytes, std::span<const std::byte> bytes);
    /// Writes whole pages that are `begin` and, behind it, `end`. Both are copied.
    ///
    /// \pre offset and the sum of sizes are whole pages
    void write_copied(std::int64_t offset_bytes,
                      std::span<const std::byte> begin,
                      std::span<const std::byte> end);
    /// Takes bytes that share pages with others; copied.
    void keep(std::int64_t offset_bytes, std::span<const std::byte> bytes);

    /// An output into the same file for a second thread, which may call only the three functions above.
    std::unique_ptr<ShardOutput> beside() const;
    /// Returns when all that `other` has written has left memory; from now on this knows of it.
    void join(ShardOutput& other);

    /// Writes all pages that were not, from what was kept and, where nothing was, from `rest`.
    void write_other_pages(const storage::SparseImage& rest);

    /// Returns when the disk has all of it.
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
    StreamHash block_hash_;
    storage::AlignedBuffer memory_;
    std::vector<std::int64_t> free_buffers_;
    std::vector<std::pair<std::int64_t, std::int64_t>> written_;  // pages [first, last)
    std::vector<Kept> kept_;
    storage::DirectFile file_;
    storage::AioQueue queue_;  // last: it goes first, and waits for what is in flight
};

}  // namespace ziggurat::checkpoint
