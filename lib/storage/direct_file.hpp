/// Files whose bytes go around the page cache where the file system allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_handle.hpp"
#include "base/pages.hpp"

namespace ziggurat::storage {

/// Bytes that this process has moved from and to files so far, by whichever thread and queue: what tells a
/// slow disk from one that does not answer.
std::int64_t bytes_moved() noexcept;
/// Adds to bytes_moved().
void note_moved(std::int64_t bytes) noexcept;

/// One open file. Opened with O_DIRECT where the file system has that, else through the page cache.
///
/// Errors: everything throws Error{resource} with path, offset and the system's reason. A limit on the size
/// of files is such an error, too: SIGXFSZ is ignored from the first file created on.
class DirectFile {
  public:
    /// For reading.
    static DirectFile open(const std::string& path);
    /// The same of a file that messages call otherwise than what leads to it, such as a path in /proc.
    static DirectFile open(const std::string& path, const std::string& called);
    /// For writing; what was there is gone.
    static DirectFile create(const std::string& path);
    /// For reading and writing; in `folder`, under no name: when all who have it open are gone, however they
    /// ended, so is the file.
    static DirectFile create_unnamed(const std::string& folder);
    /// The same where the file system has no files without a name: one that loses its name at once. Names
    /// that jobs left in `folder` when they were killed in that instant go, after a minute.
    static DirectFile create_unlinked(const std::string& folder);
    /// The same file once more, for another thread.
    DirectFile open_again() const;

    const std::string& path() const noexcept { return path_; }
    int descriptor() const noexcept { return descriptor_.get(); }
    bool is_direct() const noexcept { return is_direct_; }
    /// Why transfers do not reach a disk at once; empty when they do.
    std::string why_not_direct() const;
    std::int64_t size_bytes() const;
    /// Whether any name leads to it: nobody has removed it since it was opened.
    bool has_name() const noexcept;

    /// Sets the size and takes the disk space for it at once where the file system can: a full disk shows
    /// before anything is written.
    void reserve(std::int64_t bytes);
    void resize(std::int64_t bytes);
    /// Returns when the disk has it all.
    void flush();

    /// Returns when all bytes have moved. At any offset when not direct.
    void write(std::int64_t offset_bytes, std::span<const std::byte> from);
    /// The bytes read: fewer than asked for only at the end of the file.
    std::int64_t read(std::int64_t offset_bytes, std::span<std::byte> into);

    /// Goes through the page cache from here on: for what is left of a transfer that the system cut at an odd
    /// place, and for file systems that take O_DIRECT and then refuse.
    void stop_direct() noexcept;

  private:
    /// \param called  in messages
    DirectFile(const std::string& path, int flags, std::string called);
    /// Whether a transfer that failed so is worth another try: interrupted, or refused while direct.
    bool tries_again(int error_number) noexcept;

    std::string path_;
    FileHandle descriptor_;
    bool is_direct_ = false;
};

}  // namespace ziggurat::storage
