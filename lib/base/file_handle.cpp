#include "base/file_handle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace ziggurat {

void FileTraits::close(Handle file) noexcept {
    ::close(file);
}

namespace {

constexpr const char* no_file = "not a regular file";
constexpr const char* is_link = "it is a symbolic link, and files are not written through links";

/// True for a regular file, or for a character device such as /dev/null.
bool takes_text(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode));
}

[[noreturn]] void refuse(const char* what, const std::string& path, const char* reason, const char* remedy) {
    throw Error{ErrorKind::resource,
                std::string{"cannot "} + what + " '" + path + "' (" + reason + "). " + remedy};
}

}  // namespace

FileHandle open_for_writing(const std::string& path, OpenMode mode, const char* remedy) {
    // Without O_NONBLOCK, opening a pipe would block until it has a reader.
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                      (mode == OpenMode::append ? O_APPEND : O_TRUNC);
    FileHandle file{::open(path.c_str(), flags, 0666)};
    const int problem = errno;
    if (!file && problem == ELOOP) {
        refuse("write", path, is_link, "Remove the link.");
    }
    if (!file || !takes_text(file.get())) {
        refuse("write", path, file || problem == ENXIO ? no_file : std::strerror(problem), remedy);
    }
    ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
    return file;
}

FileHandle open_for_reading(const std::string& path) {
    FileHandle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file && errno == ENOENT) {
        return file;
    }
    const int problem = errno;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        refuse("read", path, file || problem == ENXIO ? no_file : std::strerror(problem),
               "Remove it, or make it readable.");
    }
    return file;
}

int write_all(int file, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(written);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace ziggurat
