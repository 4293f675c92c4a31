/// Files that bypass the page cache (O_DIRECT) if the file system supports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_handle.hpp"
#include "base/pages.hpp"

namespace ziggurat::storage {

/// Returns the bytes that all threads and queues of this process have read and written so far.
///
/// With this number, a slow disk can be distinguished from a disk that hangs.
std::int64_t bytes_moved() noexcept;
/// Adds to bytes_moved().
void note_moved(std::int64_t bytes) noexcept;

/// One open file, with O_DIRECT if the file system supports it, otherwise with the page cache.
///
/// Errors: all functions throw Error{resource} with path, offset and the system's reason. This includes a
/// limit on the size of files: SIGXFSZ is ignored after the first file is created.
class DirectFile {
  public:
    /// Opens a file for reading.
    static DirectFile open(const std::string& path);
    /// Opens a file for reading; messages name it `called`, for example if `path` is in /proc.
    static DirectFile open(const std::string& path, const std::string& called);
    /// Creates or truncates a file for writing.
    static DirectFile create(const std::string& path);
    /// Creates a file without a name in `folder` for reading and writing.
    ///
    /// The system deletes it when no process has it open any longer, for example after a crash.
    static DirectFile create_unnamed(const std::string& folder);
    /// Creates a file and unlinks it at once, for file systems that do not support files without a name.
    ///
    /// If a job is killed between the two, its name stays in `folder`; this function removes such names after
    /// a minute.
    static DirectFile create_unlinked(const std::string& folder);
    /// Opens the same file again, for another thread.
    DirectFile open_again() const;

    const std::string& path() const noexcept { return path_; }
    int descriptor() const noexcept { return descriptor_.get(); }
    bool is_direct() const noexcept { return is_direct_; }
    /// Returns the reason why transfers do not go directly to a disk; empty if they do.
    std::string not_direct_reason() const;
    std::int64_t size_bytes() const;
    /// Returns true if the file still has a name: it was not removed since it was opened.
    bool has_name() const noexcept;

    /// Sets the size and allocates the disk space at once if the file system can.
    ///
    /// So a full disk is detected before bytes are written.
    void reserve(std::int64_t bytes);
    void resize(std::int64_t bytes);
    /// Waits until all bytes are on the disk.
    void flush();

    /// Writes all bytes. The offset can be unaligned if the file is not direct.
    void write(std::int64_t offset_bytes, std::span<const std::byte> from);
    /// Reads bytes; returns their number, which is smaller than the size of `into` only at the end of file.
    std::int64_t read(std::int64_t offset_bytes, std::span<std::byte> into);

    /// Uses the page cache from now on.
    ///
    /// This is needed for the rest of a transfer that the system has split at an unaligned offset. It is also
    /// needed on file systems that accept O_DIRECT but refuse the transfers.
    void stop_direct() noexcept;

  private:
    /// \param called  name of the file in messages
    DirectFile(const std::string& path, int flags, std::string called);
    /// Returns true if a failed transfer must be retried: it was interrupted, or refused with O_DIRECT.
    bool tries_again(int error_number) noexcept;

    std::string path_;
    FileHandle descriptor_;
    bool is_direct_ = false;
};

}  // namespace ziggurat::storage
