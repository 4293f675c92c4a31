#include "storage/directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "storage/direct_file.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::storage {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
    throw Error{
        ErrorKind::checkpoint,
        fmt::format("'{}' is corrupt ({}). Remove it, or use another checkpoint.", printable(path), reason)};
}

}  // namespace

void flush_directory(const std::string& path) {
    if (const int fault = planned_fault(path, 0, 0)) {
        throw_io_error("flush", path, fault);
    }
    const FileHandle directory{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!directory) {
        throw_io_error("open", path, errno);
    }
    // Some file systems do not support fsync() of directories and return one of these errors.
    if (fsync(directory.get()) != 0 && errno != EINVAL && errno != EBADF && errno != ENOTSUP) {
        throw_io_error("flush", path, errno);
    }
}

void flush_file(int descriptor, const std::string& path) {
    int problem = planned_fault(path, 0, 0);
    // Devices such as /dev/null do not support fsync() and return EINVAL.
    if (problem == 0 && fsync(descriptor) != 0 && errno != EINVAL) {
        problem = errno;
    }
    if (problem != 0) {
        throw_io_error("flush", path, problem);
    }
}

void write_small_file(const std::string& path, std::string_view text) {
    ::unlink(path.c_str());  // the existing entry may be a pipe or a symbolic link
    try {
        DirectFile file = DirectFile::create(path);
        file.stop_direct();
        file.write(0, std::as_bytes(std::span{text}));
        file.flush();
    } catch (...) {
        ::unlink(path.c_str());
        throw;
    }
}

std::optional<std::string> read_small_file(const std::string& path, std::int64_t max_bytes) {
    if (const int fault = planned_read_fault(path, 0, 0)) {
        throw_io_error("read", path, fault);
    }
    const FileHandle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file && errno == ENOENT) {
        return std::nullopt;
    }
    if (!file && (errno == ELOOP || errno == ENOTDIR || errno == ENXIO || errno == ENODEV)) {
        refuse(path, std::strerror(errno));
    }
    struct stat status = {};
    if (!file || fstat(file.get(), &status) != 0) {
        throw_io_error("read", path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        refuse(path, "it is not a regular file");
    }
    if (status.st_size > max_bytes) {
        refuse(path, fmt::format("it has {} bytes, more than any such file has", status.st_size));
    }
    std::string text(status.st_size, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t moved = ::read(file.get(), text.data() + size, text.size() - size);
        if (moved < 0 && errno != EINTR) {
            throw_io_error("read", path, errno);
        }
        if (moved == 0) {
            break;
        }
        size += moved > 0 ? static_cast<std::size_t>(moved) : 0;
    }
    text.resize(size);
    return text;
}

void rename_path(const std::string& from, const std::string& to) {
    int problem = planned_fault(to, 0, 0);
    if (problem == 0 && std::rename(from.c_str(), to.c_str()) != 0) {
        problem = errno;
    }
    if (problem != 0) {
        throw_io_error("rename '" + from + "' to", to, problem);
    }
}

bool exchange_paths(const std::string& a, const std::string& b) {
    int problem = planned_fault(b, 0, 0);
    if (problem == 0 && renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0) {
        problem = errno;
    }
    if (problem == EINVAL || problem == ENOSYS || problem == EOPNOTSUPP) {
        return false;
    }
    if (problem != 0) {
        throw_io_error("exchange '" + a + "' and", b, problem);
    }
    return true;
}

namespace {

struct statvfs space_of(const std::string& path) {
    struct statvfs status = {};
    if (statvfs(path.c_str(), &status) != 0) {
        throw_io_error("ask for the free space of", path, errno);
    }
    return status;
}

}  // namespace

bool is_local(const std::string& path) noexcept {
    constexpr long xfs_magic = 0x58465342;
    struct statfs system = {};
    return statfs(path.c_str(), &system) == 0 &&
           std::ranges::any_of(
               std::array{long{EXT4_SUPER_MAGIC}, long{BTRFS_SUPER_MAGIC}, long{TMPFS_MAGIC},
                          long{OVERLAYFS_SUPER_MAGIC}, static_cast<long>(RAMFS_MAGIC), xfs_magic},
               [&](long magic) { return system.f_type == static_cast<decltype(system.f_type)>(magic); });
}

bool has_limited_space(const std::string& path) {
    return space_of(path).f_blocks > 0;
}

std::int64_t free_bytes(const std::string& path) {
    const auto status = space_of(path);
    return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

}  // namespace ziggurat::storage
