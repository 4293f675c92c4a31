/// Space on one or several disks as one run of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/aio_queue.hpp"
#include "storage/cell_records.hpp"
#include "storage/direct_file.hpp"
#include "storage/stripes.hpp"
#include "storage/transfer_thread.hpp"
#include "storage/written_pages.hpp"

namespace ziggurat::storage {

/// Files without names, one in each folder, that share the bytes out in stripes by turns; a folder with less
/// room than others gets less. The space is taken when this is made and given back when the process ends,
/// however it ends.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 6.3 (several disks of a node)
class StripedFile {
  public:
    struct Options {
        std::int64_t stripe_bytes = std::int64_t{1} << 20;  ///< whole pages
        /// Boundaries of transfers besides multiples of stripes: with them, all that is read is checked
        /// against a checksum of what was written. Nothing: not checked.
        std::optional<std::vector<std::int64_t>> checked_between = {};
    };

    /// Errors: Error{resource} that names the folders, what is wanted and what is free
    StripedFile(const std::vector<std::string>& folders, std::int64_t bytes, Options options);

    std::int64_t bytes() const noexcept { return bytes_; }
    /// The folder in which one of the files of segments() lies.
    const std::string& folder_of(const DirectFile& file) const;
    /// Folders whose files go through the page cache, with the reason.
    const std::vector<std::string>& not_direct() const noexcept { return not_direct_; }
    /// Bytes that the checksums take.
    std::int64_t memory_bytes() const noexcept { return records_.memory_bytes(); }

    /// Segments of files that hold the pages [offset, offset + bytes), for transfers from or to `memory`.
    /// Reads and writes have open files of their own, so that two threads need not know of each other.
    ///
    /// \pre when checked: whole cells, see Options
    std::vector<FileSegment> segments(TransferKind kind,
                                      std::int64_t offset_bytes,
                                      std::byte* memory,
                                      std::int64_t bytes);

    /// Whether nothing was ever written there: then all of it is zero.
    bool is_blank(std::int64_t offset_bytes, std::int64_t bytes) const {
        return !written_.any(offset_bytes, bytes);
    }
    /// A transfer is about to write these pages.
    void note_written(std::int64_t offset_bytes, std::int64_t bytes) { written_.note(offset_bytes, bytes); }

    /// Any bytes, at once; not beside transfers of the same pages. One caller at a time is served.
    ///
    /// Errors: Error{resource}
    void read(std::int64_t offset_bytes, std::span<std::byte> into);
    void write(std::int64_t offset_bytes, std::span<const std::byte> from);

  private:
    /// The end of what is moved at once from `offset_bytes` on, and its begin at or before that.
    std::int64_t window_begin(std::int64_t offset_bytes) const;
    std::int64_t window_end(std::int64_t begin, std::int64_t end) const;
    void read_window(std::int64_t offset_bytes, std::span<std::byte> into);
    void write_window(std::int64_t offset_bytes, std::span<std::byte> from);

    std::vector<std::string> folders_;
    std::int64_t bytes_;
    std::vector<DirectFile> to_read_, to_write_;
    std::vector<std::string> not_direct_;
    std::optional<Stripes> stripes_;
    CellRecords records_;
    WrittenPages written_;
    std::mutex mutex_;
    AlignedBuffer window_;  ///< what read() and write() pass through
};

}  // namespace ziggurat::storage
