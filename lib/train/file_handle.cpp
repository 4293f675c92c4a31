#include "train/file_handle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace ziggurat::train {

void FileTraits::close(Handle file) noexcept {
    ::close(file);
}

FileHandle open_for_writing(const std::string& path, OpenMode mode) {
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == OpenMode::append ? O_APPEND : O_TRUNC);
    const int file = ::open(path.c_str(), flags, 0666);
    if (file < 0) {
        throw Error{ErrorKind::resource,
                    "cannot write '" + path + "' (" + std::strerror(errno) +
                        "). Set run.dir to a directory where you may write, on a disk with room."};
    }
    return FileHandle{file};
}

int write_all(int file, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace ziggurat::train
