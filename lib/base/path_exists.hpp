/// Existence of a path, checked without exceptions.
#pragma once

#include <filesystem>
#include <system_error>

namespace ziggurat {

/// True if `path` is an existing file or folder. Returns false on an error of the system.
inline bool path_exists(const std::filesystem::path& path) {
    std::error_code unreadable;
    return std::filesystem::exists(path, unreadable);
}

}  // namespace ziggurat
