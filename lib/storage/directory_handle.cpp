#include "storage/directory_handle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/contract.hpp"
#include "base/error.hpp"

namespace ziggurat::storage {
namespace {

FileHandle open_folder(const std::string& name) {
    return FileHandle{::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

bool leads_to(const std::string& path, int descriptor) {
    struct stat of_path {};
    struct stat held {};
    return ::stat(path.c_str(), &of_path) == 0 && ::fstat(descriptor, &held) == 0 &&
           of_path.st_dev == held.st_dev && of_path.st_ino == held.st_ino;
}

}  // namespace

DirectoryHandle::DirectoryHandle(const std::string& name)
    : name_{name}, folder_{open_folder(name)}, fd_path_{name} {
    const std::string fd_path = "/proc/self/fd/" + std::to_string(folder_.get());
    if (folder_ && leads_to(fd_path, folder_.get())) {
        fd_path_ = fd_path;  // otherwise /proc does not exist, and the name must be used
    }
}

std::string DirectoryHandle::name() const {
    if (fd_path_ == name_ || path_status() != PathStatus::moved) {
        return name_;
    }
    std::error_code unknown;
    const auto now = std::filesystem::read_symlink(fd_path_, unknown);
    return unknown ? name_ : now.string();
}

std::string DirectoryHandle::with_display_path(std::string_view text) const {
    std::string made{text};
    if (fd_path_ == name_) {
        return made;
    }
    const std::string shown = name();
    for (auto at = made.find(fd_path_); at != std::string::npos; at = made.find(fd_path_, at)) {
        const auto end = at + fd_path_.size();
        const bool is_whole = end == made.size() || made[end] < '0' || made[end] > '9';
        made.replace(at, is_whole ? fd_path_.size() : 0, is_whole ? shown : "");
        at += is_whole ? shown.size() : fd_path_.size();
    }
    return made;
}

PathStatus DirectoryHandle::path_status() const {
    struct stat held {};
    if (!folder_ || leads_to(name_, folder_.get())) {
        return PathStatus::unchanged;
    }
    // A directory without links was removed. A file server may report an error instead.
    return ::fstat(folder_.get(), &held) != 0 || held.st_nlink == 0 ? PathStatus::removed : PathStatus::moved;
}

void DirectoryHandle::reopen(const DirectoryHandle& now) {
    ZG_EXPECTS(now.is_held());
    if (!folder_) {
        return;
    }
    if (::dup3(now.descriptor(), folder_.get(), O_CLOEXEC) < 0) {
        throw Error{ErrorKind::resource, "cannot open the run directory '" + name_ + "' (" +
                                             std::strerror(errno) +
                                             "). Set run.dir to a directory that you may write to."};
    }
}

}  // namespace ziggurat::storage
