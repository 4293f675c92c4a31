#include "storage/direct_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::storage {
namespace {

int open_descriptor(const std::string& path, int flags) {
    for (;;) {
        const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EINTR) {
            return descriptor;
        }
    }
}

constexpr const char* without_name = "/(without a name)";
/// Prefix of the names of files that are unlinked as soon as they are open.
constexpr const char* short_lived_name = ".ziggurat-nvme-";

/// Removes names of files of jobs that were killed between the creation and the unlinking of the file.
void remove_stale_names(const std::string& folder) {
    constexpr double long_enough_seconds = 60;
    std::error_code error;
    std::vector<std::string> found;
    for (std::filesystem::directory_iterator entry{folder, error}, end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().filename().string().starts_with(short_lived_name)) {
            found.push_back(entry->path());
        }
    }
    for (const auto& path : found) {
        const FileHandle file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
        struct stat status = {};
        const bool is_stale = file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
                              ::fstat(file.get(), &status) == 0 && status.st_size == 0 &&
                              calendar_seconds() - static_cast<double>(status.st_mtime) > long_enough_seconds;
        if (is_stale) {
            ::unlink(path.c_str());
        }
    }
}

std::atomic<std::int64_t> moved_bytes{0};

void ignore_size_signal() noexcept {
    struct sigaction action = {};
    action.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace

std::int64_t bytes_moved() noexcept {
    return moved_bytes.load(std::memory_order_relaxed);
}

void note_moved(std::int64_t bytes) noexcept {
    moved_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

DirectFile::DirectFile(const std::string& path, int flags, std::string called) : path_{std::move(called)} {
    int descriptor = open_descriptor(path, flags | O_DIRECT);
    is_direct_ = descriptor >= 0;
    if (descriptor < 0 && errno == EINVAL) {
        descriptor = open_descriptor(path, flags);
    }
    if (descriptor < 0) {
        throw_io_error((flags & O_CREAT) != 0 ? "create" : "open", path_, errno);
    }
    descriptor_ = FileHandle{descriptor};
}

DirectFile DirectFile::open(const std::string& path, const std::string& called) {
    DirectFile file{path, O_RDONLY | O_NONBLOCK, called};  // opening a pipe would block without a writer
    struct stat status = {};
    if (fstat(file.descriptor(), &status) == 0 && !S_ISREG(status.st_mode)) {
        throw_io_error("read", called, S_ISDIR(status.st_mode) ? EISDIR : ESPIPE);
    }
    return file;
}

DirectFile DirectFile::open(const std::string& path) {
    return open(path, path);
}

DirectFile DirectFile::create(const std::string& path) {
    ignore_size_signal();
    if (const int fault = planned_fault(path, 0, 0)) {
        throw_io_error("create", path, fault);
    }
    return {path, O_RDWR | O_CREAT | O_TRUNC, path};
}

DirectFile DirectFile::create_unnamed(const std::string& folder) {
    ignore_size_signal();
    if (const int fault = planned_fault(folder, 0, 0)) {
        throw_io_error("create a file in", folder, fault);
    }
    try {
        return {folder, O_RDWR | O_TMPFILE, folder + without_name};
    } catch (const Error&) {
        return create_unlinked(folder);
    }
}

DirectFile DirectFile::create_unlinked(const std::string& folder) {
    remove_stale_names(folder);
    std::string path = folder + "/" + short_lived_name + "XXXXXX";
    const FileHandle made{::mkostemp(path.data(), O_CLOEXEC)};
    if (!made) {
        throw_io_error("create a file in", folder, errno);
    }
    ::flock(made.get(), LOCK_EX);  // without a lock, remove_stale_names() may remove it
    try {
        DirectFile file{path, O_RDWR, folder + without_name};
        ::unlink(path.c_str());
        return file;
    } catch (...) {
        ::unlink(path.c_str());
        throw;
    }
}

DirectFile DirectFile::open_again() const {
    return {"/proc/self/fd/" + std::to_string(descriptor()), O_RDWR, path_};
}

std::string DirectFile::not_direct_reason() const {
    struct statfs system = {};
    if (fstatfs(descriptor(), &system) == 0 &&
        (system.f_type == TMPFS_MAGIC ||
         system.f_type == static_cast<decltype(system.f_type)>(RAMFS_MAGIC))) {
        return "its file system is memory, not a disk";
    }
    return is_direct_ ? "" : "its file system has no O_DIRECT";
}

std::int64_t DirectFile::size_bytes() const {
    struct stat status = {};
    if (fstat(descriptor(), &status) != 0) {
        throw_io_error("ask for the size of", path_, errno);
    }
    return status.st_size;
}

bool DirectFile::has_name() const noexcept {
    struct stat status = {};
    return fstat(descriptor(), &status) == 0 && status.st_nlink > 0;
}

void DirectFile::reserve(std::int64_t bytes) {
    int problem = planned_fault(path_, 0, bytes);
    struct statvfs system = {};
    if (problem == 0 && fstatvfs(descriptor(), &system) == 0 && system.f_blocks > 0 &&
        bytes / static_cast<std::int64_t>(system.f_frsize) > static_cast<std::int64_t>(system.f_bavail)) {
        problem = ENOSPC;  // fallocate() would fill the disk before it fails, at the expense of others
    }
    if (problem == 0 && bytes > 0) {
        do {
            problem = fallocate(descriptor(), 0, 0, bytes) == 0 ? 0 : errno;
        } while (problem == EINTR);
    }
    if (problem == EOPNOTSUPP || problem == ENOSYS) {
        resize(bytes);  // disk space is allocated by the writes
    } else if (problem != 0) {
        throw_io_error(describe_transfer("reserve", bytes, 0), path_, problem);
    }
}

void DirectFile::resize(std::int64_t bytes) {
    int problem = 0;
    do {
        problem = ftruncate(descriptor(), bytes) == 0 ? 0 : errno;
    } while (problem == EINTR);
    if (problem != 0) {
        throw_io_error("set the size of", path_, problem);
    }
}

void DirectFile::flush() {
    int problem = planned_fault(path_, 0, 0);
    if (problem == 0 && fsync(descriptor()) != 0) {
        problem = errno;
    }
    if (problem != 0) {
        throw_io_error("flush", path_, problem);
    }
}

void DirectFile::write(std::int64_t offset_bytes, std::span<const std::byte> from) {
    if (const int fault = planned_fault(path_, offset_bytes, std::ssize(from))) {
        throw_io_error(describe_transfer("write", std::ssize(from), offset_bytes), path_, fault);
    }
    while (!from.empty()) {
        const ssize_t moved = pwrite(descriptor(), from.data(), from.size(), offset_bytes);
        if (moved < 0) {
            if (tries_again(errno)) {
                continue;
            }
            throw_io_error(describe_transfer("write", std::ssize(from), offset_bytes), path_, errno);
        }
        note_moved(moved);
        offset_bytes += moved;
        from = from.subspan(moved);
        if (moved % page_bytes != 0) {
            stop_direct();
        }
    }
}

std::int64_t DirectFile::read(std::int64_t offset_bytes, std::span<std::byte> into) {
    if (const int fault = planned_read_fault(path_, offset_bytes, std::ssize(into))) {
        throw_io_error(describe_transfer("read", std::ssize(into), offset_bytes), path_, fault);
    }
    std::int64_t total = 0;
    while (!into.empty()) {
        const ssize_t moved = pread(descriptor(), into.data(), into.size(), offset_bytes);
        if (moved < 0) {
            if (tries_again(errno)) {
                continue;
            }
            throw_io_error(describe_transfer("read", std::ssize(into), offset_bytes), path_, errno);
        }
        if (moved == 0) {
            break;
        }
        note_moved(moved);
        total += moved;
        offset_bytes += moved;
        into = into.subspan(moved);
        if (moved % page_bytes != 0) {
            stop_direct();
        }
    }
    return total;
}

bool DirectFile::tries_again(int error_number) noexcept {
    if (error_number != EINVAL || !is_direct_) {
        return error_number == EINTR;
    }
    stop_direct();
    const bool has_stopped = !is_direct_;
    errno = error_number;  // stop_direct() may have changed errno, which the caller reports
    return has_stopped;
}

void DirectFile::stop_direct() noexcept {
    const int flags = fcntl(descriptor(), F_GETFL);
    if (is_direct_ && flags >= 0 && fcntl(descriptor(), F_SETFL, flags & ~O_DIRECT) == 0) {
        is_direct_ = false;
    }
}

}  // namespace ziggurat::storage
