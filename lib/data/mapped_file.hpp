/// Files read through memory: the system's page cache is the only copy, and all ranks of a node share it.
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

/// Stamp of a file by the system: equal ones of a path mean the same bytes, unless clocks are set back.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;  ///< since 1970

    /// The same file, whatever has been written into it.
    bool is_same_file(const FileStamp& other) const noexcept {
        return device == other.device && inode == other.inode;
    }
    bool operator==(const FileStamp&) const = default;
};

/// Nothing when no file can be seen there.
std::optional<FileStamp> stamp_of(const std::string& path);

/// Owns a read-only mapping of a whole file that is not empty.
///
/// Errors: Error{deck} that begins with `key`, the place of the path in the deck, when the file is missing,
///         unreadable, no file, or empty
class MappedFile {
  public:
    MappedFile(const std::string& path, const std::string& key);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    const std::string& path() const noexcept { return path_; }
    std::int64_t bytes() const noexcept { return stamp_.bytes; }
    /// Of the file when it was opened.
    const FileStamp& stamp() const noexcept { return stamp_; }
    std::span<const std::byte> content() const noexcept { return {data_, static_cast<std::size_t>(bytes())}; }

    /// The value of type T at any offset, aligned or not; little-endian like every format here.
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

/// The files that `pattern` names, sorted: itself if there is such a file, else what matches its `*`, `?`
/// and `[...]`.
///
/// Errors: Error{deck} that begins with `key` when nothing matches
std::vector<std::string> expand_paths(const std::string& pattern, const std::string& key);

}  // namespace ziggurat::data
