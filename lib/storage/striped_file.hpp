/// Space on one or several disks as one range of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/aio_queue.hpp"
#include "storage/checksum_table.hpp"
#include "storage/direct_file.hpp"
#include "storage/stripes.hpp"
#include "storage/transfer_thread.hpp"
#include "storage/written_pages.hpp"

namespace ziggurat::storage {

/// Byte range that is striped over files without names, one in each folder.
///
/// A folder with less free space gets fewer stripes. The disk space is allocated by the constructor. The
/// system frees it when the process ends, for any reason.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 6.3 (several disks of a node)
class StripedFile {
  public:
    struct Options {
        std::int64_t stripe_bytes = std::int64_t{1} << 20;  ///< multiple of the page size
        /// Size of the buffer for reads and writes outside of steps, at least stripe_bytes.
        std::int64_t window_bytes = std::int64_t{4} << 20;
        /// Boundaries of transfers, in addition to stripe boundaries.
        ///
        /// If set, all bytes that are read are checked against the checksum of the last write. nullopt: bytes
        /// are not checked.
        std::optional<std::vector<std::int64_t>> checked_between = {};
    };

    /// Errors: Error{resource} that names the folders, the required and the free space
    StripedFile(const std::vector<std::string>& folders, std::int64_t bytes, Options options);

    std::int64_t bytes() const noexcept { return bytes_; }
    /// Returns the folder of one of the files of segments().
    const std::string& folder_of(const DirectFile& file) const;
    /// Returns the folders whose files use the page cache, with the reason.
    const std::vector<std::string>& not_direct() const noexcept { return not_direct_; }
    /// Returns the bytes of memory that the checksums take.
    std::int64_t memory_bytes() const noexcept { return records_.memory_bytes(); }

    /// Returns the file segments of the pages [offset, offset + bytes), for transfers from or to `memory`.
    ///
    /// Reads and writes use separate open files, so that two threads need no synchronization.
    ///
    /// \pre if checked: whole cells, see Options
    std::vector<FileSegment> segments(TransferKind kind,
                                      std::int64_t offset_bytes,
                                      std::byte* memory,
                                      std::int64_t bytes);

    /// Returns true if the range was never written, so that all its bytes are zero.
    bool is_blank(std::int64_t offset_bytes, std::int64_t bytes) const {
        return !written_.any(offset_bytes, bytes);
    }
    /// Marks these pages as written, before a transfer writes them.
    void note_written(std::int64_t offset_bytes, std::int64_t bytes) { written_.note(offset_bytes, bytes); }

    /// Reads or writes any bytes synchronously. Callers are serialized.
    ///
    /// \pre no transfer of the same pages is running
    /// Errors: Error{resource}
    void read(std::int64_t offset_bytes, std::span<std::byte> into);
    void write(std::int64_t offset_bytes, std::span<const std::byte> from);

  private:
    /// Returns the begin (at or before `offset_bytes`) or the end of the window that is moved at once.
    std::int64_t window_begin(std::int64_t offset_bytes) const;
    std::int64_t window_end(std::int64_t begin, std::int64_t end) const;
    void read_window(std::int64_t offset_bytes, std::span<std::byte> into);
    void write_window(std::int64_t offset_bytes, std::span<std::byte> from);

    std::vector<std::string> folders_;
    std::int64_t bytes_;
    std::vector<DirectFile> to_read_, to_write_;
    std::vector<std::string> not_direct_;
    std::optional<Stripes> stripes_;
    ChecksumTable records_;
    WrittenPages written_;
    std::mutex mutex_;
    AlignedBuffer window_;  ///< staging buffer of read() and write()
};

}  // namespace ziggurat::storage
