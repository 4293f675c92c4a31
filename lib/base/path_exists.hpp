/// Question whether a path exists, without exceptions.
#pragma once

#include <filesystem>
#include <system_error>

namespace ziggurat {

/// True if there is a file or folder at `path` that can be seen; an error of the system counts as none.
inline bool path_exists(const std::filesystem::path& path) {
    std::error_code unreadable;
    return std::filesystem::exists(path, unreadable);
}

}  // namespace ziggurat
