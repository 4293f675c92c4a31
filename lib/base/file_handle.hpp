/// Sole ownership of a file descriptor, and complete writes to it.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_handle.hpp"

namespace ziggurat {

struct FileTraits {
    using Handle = int;
    static constexpr Handle null() noexcept { return -1; }
    static void close(Handle file) noexcept;
};
using FileHandle = UniqueHandle<FileTraits>;

enum class OpenMode { append, replace };

/// Opens `path` for writing and creates it if necessary. Never blocks: a pipe is rejected.
///
/// A symbolic link is rejected: a folder from elsewhere may have links to files of its reader.
///
/// Errors: Error{resource} with the path, the reason of the system, and `remedy`
FileHandle open_for_writing(
    const std::string& path,
    OpenMode mode,
    const char* remedy = "Set run.dir to a directory where you may write, on a disk with room.");

/// Opens a regular file. Returns an empty handle if the file does not exist.
///
/// Errors: Error{resource} if it cannot be opened or is not a regular file
FileHandle open_for_reading(const std::string& path);

/// Writes all of `text`, and resumes after interruptions. Returns 0, or the errno of a failed write.
int write_all(int file, std::string_view text) noexcept;

}  // namespace ziggurat
