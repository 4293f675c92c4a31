/// How the bytes of one writer's file get to the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/aio_queue.hpp"
#include "storage/direct_file.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::checkpoint {

/// Bytes that lie side by side in a file.
struct FileRun {
    std::int64_t offset_bytes = 0;
    std::span<const std::byte> bytes;
};

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

/// XXH3-64 of all bytes of `rest` that are not in `runs`, in order.
std::uint64_t hash_of_image(const storage::SparseImage& rest, std::vector<FileRun> runs = {});

/// Writes a file of known size in whole pages, many at a time: first those that lie within one run of bytes,
/// in any order, then all others, each put together from what lies in it. So no page is written twice, and
/// none is read.
///
/// Errors: Error{resource}
class ShardOutput {
  public:
    /// Takes the disk space for the whole file.
    ShardOutput(const std::string& path, std::int64_t bytes);

    const std::string& path() const noexcept { return file_.path(); }

    /// Writes the pages that are wholly within `bytes`, at most one block of hashes, unless they are few:
    /// those go with their neighbours. Memory that is aligned as the file asks is read until finish(), any
    /// other is copied. Returns the XXH3-64 of `bytes`, taken while they are in the cache.
    std::uint64_t write_block(std::int64_t offset_bytes, std::span<const std::byte> bytes);

    /// Another way into the same file, for a thread of its own, which may call write_block() alone.
    std::unique_ptr<ShardOutput> beside() const;
    /// Returns when all that `other` has written has left memory; from now on this knows of it.
    void join(ShardOutput& other);

    /// Writes all pages that were not, from `runs` and, where there are none, from `rest`.
    void write_other_pages(const storage::SparseImage& rest, std::vector<FileRun> runs);

    /// Returns when the disk has all of it.
    void finish();

  private:
    ShardOutput(storage::DirectFile file, std::int64_t bytes);
    void drain();
    std::int64_t free_buffer();
    std::span<std::byte> buffer(std::int64_t index) const;
    void write_composed(std::int64_t first_page,
                        std::int64_t last_page,
                        const storage::SparseImage& rest,
                        std::span<const FileRun> runs);

    std::int64_t bytes_;
    StreamHash block_hash_;
    storage::AlignedBuffer memory_;
    std::vector<std::int64_t> free_buffers_;
    std::vector<std::pair<std::int64_t, std::int64_t>> written_;  // pages [first, last)
    storage::DirectFile file_;
    storage::AioQueue queue_;  // last: it goes first, and waits for what is in flight
};

}  // namespace ziggurat::checkpoint
