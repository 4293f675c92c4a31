/// Files that have their name only when they are complete, and unfinished ones of processes that ended.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file_handle.hpp"

namespace ziggurat::data {

/// A file that cannot be created or written. Its kind is resource.
class UnwritableFile : public Error {
  public:
    using Error::Error;
};

/// A file that is written under a temporary name, NAME.HOST-PROCESS.tmp, or without a name.
///
/// It is locked while it is written. An owner that ends early removes it; that of a process that was killed
/// is removed by remove_abandoned().
class TemporaryFile {
  public:
    /// \param path  name of the complete file; an existing file is replaced
    /// Errors: UnwritableFile
    explicit TemporaryFile(std::string path);
    /// A file without a name in the folder of temporary files. The system removes it with its last
    /// descriptor.
    ///
    /// Errors: UnwritableFile
    TemporaryFile();
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    /// Errors: UnwritableFile
    void append(std::string_view bytes);
    /// Replaces the first bytes, flushes the file to the disk, and gives it its name.
    ///
    /// Errors: UnwritableFile
    void complete(std::string_view first_bytes);

    const FileHandle& file() const noexcept { return file_; }
    /// Returns the handle of a complete file; this object is empty then.
    FileHandle take_file() { return std::move(file_); }

  private:
    void open();
    bool lock();
    template <class Work>
    void writing(const Work& work) const;

    std::string path_, temporary_;
    FileHandle file_;
};

/// Removes unfinished files of TemporaryFile whose processes have ended.
///
/// A file of a running process is locked. On a network file system, locks of other machines may be invisible:
/// there, only files of this machine are removed.
///
/// \param path    name of the complete file
/// \param suffix  removes also those of other complete files, whose names begin with `path` and end with this
void remove_abandoned(const std::string& path, std::string_view suffix = {});

}  // namespace ziggurat::data
