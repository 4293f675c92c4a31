/// Sole ownership of a file descriptor, and whole writes to it.
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

/// Opens `path` for writing, creating it. Waits for nobody: a pipe is refused.
/// Errors: Error{resource} with the path, the system's reason and what to do: `remedy`
FileHandle open_for_writing(
    const std::string& path,
    OpenMode mode,
    const char* remedy = "Set run.dir to a directory where you may write, on a disk with room.");

/// Opens a regular file; nothing when there is none.
/// Errors: as above, also when it is something else
FileHandle open_for_reading(const std::string& path);

/// Writes all of `text`, going on after interruptions. Returns 0 or the errno of what failed.
int write_all(int file, std::string_view text) noexcept;

}  // namespace ziggurat
