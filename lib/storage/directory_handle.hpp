/// Handle of an open directory, which stays valid if the directory is renamed.
#pragma once

#include <string>
#include <string_view>

#include "base/file_handle.hpp"

namespace ziggurat::storage {

/// Status of an open directory, compared with the name by which it was opened.
enum class PathStatus {
    unchanged,
    moved,   ///< it was renamed; another directory may have its name now
    removed  ///< it was removed
};

/// Handle of an open directory.
///
/// Paths that begin with fd_path() keep pointing into it after it is renamed or replaced. Collective: local;
/// each rank that writes has its own handle.
class DirectoryHandle {
  public:
    /// Opens the directory. If that fails, fd_path() is the name itself, and writing there reports the
    /// reason.
    explicit DirectoryHandle(const std::string& name);

    bool is_held() const noexcept { return static_cast<bool>(folder_); }
    int descriptor() const noexcept { return folder_.get(); }
    /// Returns a path to the directory that is valid only in this process (/proc/self/fd).
    const std::string& fd_path() const noexcept { return fd_path_; }
    /// Returns the current name; if it is not known, the name by which the directory was opened.
    std::string name() const;
    /// Returns `text` with fd_path() replaced by the current name, for messages.
    std::string with_display_path(std::string_view text) const;

    PathStatus path_status() const;
    /// Makes this handle refer to the directory `now`, including its locks, after the old one was removed.
    ///
    /// The path fd_path() stays the same.
    /// \pre now.is_held()
    /// Errors: Error{resource}
    void reopen(const DirectoryHandle& now);

  private:
    std::string name_;
    FileHandle folder_;
    std::string fd_path_;
};

}  // namespace ziggurat::storage
