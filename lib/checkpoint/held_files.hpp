/// Files of a checkpoint that are held open, so that they are read to the end whoever removes them meanwhile.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/file_handle.hpp"
#include "checkpoint/manifest.hpp"
#include "storage/direct_file.hpp"
#include "storage/held_folder.hpp"

namespace ziggurat::checkpoint {

/// The folder of a checkpoint and, once they are held, its files: always those of the folder that was there
/// at first, whatever has its name now. A file that is held is read from disks of this machine, Lustre or
/// GPFS when it has no name any more; a server of NFS takes it away all the same (ESTALE). Collective: local.
class HeldFiles {
  public:
    /// Opens the folder. If it is not there, whatever is asked for is missing.
    explicit HeldFiles(const std::string& path);

    const std::string& path() const noexcept { return path_; }

    /// The manifest in COMPLETE of this folder.
    /// Errors: Error{checkpoint}
    Manifest read_manifest() const;

    /// Makes room for so many files beside what else the process has open: raises its limit where it may.
    void expect(std::size_t files);

    /// Opens the file, if there is room; else it is opened when it is read. Returns the problem with its
    /// size, or that it is missing.
    std::optional<std::string> hold(const FileEntry& entry);
    /// The same problem, of a file that stays closed.
    std::optional<std::string> size_problem(const FileEntry& entry) const;

    /// For reading, apart from others of the same file.
    /// Errors: Error{resource}
    storage::DirectFile open(const FileEntry& entry) const;

    /// A path of this process alone that leads to the folder.
    const std::string& way() const noexcept { return folder_.way(); }
    /// The same to the file.
    std::string way_to(const FileEntry& entry) const;
    /// `text` with paths of people in the place of way_to() the file.
    std::string said(std::string text, const FileEntry& entry) const;

    /// Whether this is still the checkpoint of that name: nobody has removed it, or put another in its place.
    /// Asks the server of files, not its client's memory.
    bool is_in_place() const;

  private:
    const FileHandle* held(const FileEntry& entry) const;

    std::string path_;
    storage::HeldFolder folder_;
    std::map<std::string, FileHandle> files_;  ///< by name
    std::size_t room_ = 0;
};

/// Whether there is a folder at `path`. Asks the server of files, not its client's memory.
bool is_there(const std::string& path);

}  // namespace ziggurat::checkpoint
