/// Memory-mapped files: the system's page cache is the only copy, and all ranks of a node share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/contract.hpp"

namespace ziggurat::data {

/// Stamp of a file: equal stamps of a path mean equal bytes, unless clocks are set back.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;  ///< since 1970

    /// True for the same file, even if its content has changed.
    bool is_same_file(const FileStamp& other) const noexcept {
        return device == other.device && inode == other.inode;
    }
    bool operator==(const FileStamp&) const = default;
};

/// Returns the stamp of a file; empty if the file is not accessible.
std::optional<FileStamp> stamp_of(const std::string& path);

/// Owns a read-only mapping of a whole file that is not empty.
///
/// Errors: Error{deck} that begins with `key`, the deck key of the path, if the file is missing, unreadable,
///         not a regular file, or empty
class MappedFile {
  public:
    MappedFile(const std::string& path, const std::string& key);
    /// Maps a file that has no name, or another one.
    ///
    /// \param name  its path() in messages
    MappedFile(const std::string& path, const std::string& key, const std::string& name);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    const std::string& path() const noexcept { return path_; }
    std::int64_t bytes() const noexcept { return stamp_.bytes; }
    /// Returns the stamp of the file when it was opened.
    const FileStamp& stamp() const noexcept { return stamp_; }
    std::span<const std::byte> content() const noexcept { return {data_, static_cast<std::size_t>(bytes())}; }

    /// Returns the value of type T at any offset, aligned or not; little-endian as in all formats here.
    template <class T>
    T load(std::int64_t offset) const {
        ZG_EXPECTS(offset >= 0 && offset <= bytes() - static_cast<std::int64_t>(sizeof(T)));
        T value;
        std::memcpy(&value, data_ + offset, sizeof(T));
        return value;
    }

  private:
    std::string path_;
    const std::byte* data_ = nullptr;
    FileStamp stamp_;
};

/// Returns the files that match `pattern`, sorted.
///
/// This is the path itself if such a file exists, else the matches of its `*`, `?` and `[...]`.
///
/// Errors: Error{deck} that begins with `key` if no file matches
std::vector<std::string> expand_paths(const std::string& pattern, const std::string& key);

}  // namespace ziggurat::data
