/// Space on one or several disks as one run of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "storage/aio_queue.hpp"
#include "storage/direct_file.hpp"
#include "storage/transfer_thread.hpp"

namespace ziggurat::storage {

/// Files without names, one in each folder, that share the bytes out in stripes by turns. The space is taken
/// when this is made and given back when the process ends, however it ends.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 6.3 (several disks of a node)
class StripedFile {
  public:
    /// \param stripe_bytes  whole pages
    /// Errors: Error{resource} that names the folder, when it has not the space
    StripedFile(const std::vector<std::string>& folders, std::int64_t bytes, std::int64_t stripe_bytes);

    std::int64_t bytes() const noexcept { return bytes_; }

    /// Where the pages [offset, offset + bytes) lie, to go to or come from `memory`. Reads and writes have
    /// open files of their own, so that two threads need not know of each other.
    std::vector<Segment> segments(TransferKind kind,
                                  std::int64_t offset_bytes,
                                  std::byte* memory,
                                  std::int64_t bytes);

    /// Any bytes, at once; not beside transfers of the same pages. One caller at a time is served.
    ///
    /// Errors: Error{resource}
    void read(std::int64_t offset_bytes, std::span<std::byte> into);
    void write(std::int64_t offset_bytes, std::span<const std::byte> from);

  private:
    void read_pages(std::int64_t offset_bytes, std::span<std::byte> into);
    void write_pages(std::int64_t offset_bytes, std::span<std::byte> from);

    std::int64_t bytes_;
    std::int64_t stripe_bytes_;
    std::vector<DirectFile> to_read_, to_write_;
    std::mutex mutex_;
    AlignedBuffer pages_;  ///< what read() and write() pass through
};

}  // namespace ziggurat::storage
