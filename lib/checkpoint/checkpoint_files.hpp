/// Files of a checkpoint, kept open so that they stay readable if another process removes them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/file_handle.hpp"
#include "checkpoint/manifest.hpp"
#include "storage/direct_file.hpp"
#include "storage/directory_handle.hpp"

namespace ziggurat::checkpoint {

/// Handle of a checkpoint's folder and, after hold(), of its files. Local.
///
/// The handle refers to the folder that existed at construction, even if another one now has its name. An
/// open file without a name stays readable on local disks, Lustre and GPFS. An NFS server removes it
/// nevertheless (ESTALE).
class CheckpointFiles {
  public:
    /// Opens the folder. If it does not exist, every file counts as missing.
    explicit CheckpointFiles(const std::string& path);

    const std::string& path() const noexcept { return path_; }

    /// Reads the manifest in COMPLETE of this folder.
    /// Errors: Error{checkpoint}
    Manifest read_manifest() const;

    /// Prepares for `files` open files: raises the process's limit of open files if allowed.
    void expect(std::size_t files);

    /// Opens a file, if the limit of open files allows; otherwise it is opened when it is read. Returns the
    /// defect of its size, or that it is missing; nullopt if it is intact.
    std::optional<std::string> hold(const FileEntry& entry);
    /// Returns the same defect without opening the file.
    std::optional<std::string> size_problem(const FileEntry& entry) const;

    /// Opens a file for reading, independent of other readers of the same file.
    /// Errors: Error{resource}
    storage::DirectFile open(const FileEntry& entry) const;

    /// A path to the folder that is valid only in this process.
    const std::string& fd_path() const noexcept { return folder_.fd_path(); }
    /// Returns such a path to a file.
    std::string fd_path_of(const FileEntry& entry) const;
    /// Returns `text` with the file's real path instead of fd_path_of().
    std::string with_display_path(std::string text, const FileEntry& entry) const;

    /// Returns true if the path still names this checkpoint: it was neither removed nor replaced.
    ///
    /// Queries the file server, not the client's cache.
    bool is_in_place() const;

  private:
    const FileHandle* held(const FileEntry& entry) const;

    std::string path_;
    storage::DirectoryHandle folder_;
    std::map<std::string, FileHandle> files_;  ///< by name
    std::size_t room_ = 0;
};

/// Returns true if `path` is a folder. Queries the file server, not the client's cache.
bool is_present(const std::string& path);

}  // namespace ziggurat::checkpoint
