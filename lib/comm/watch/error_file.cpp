#include "comm/watch/error_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/file_handle.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::comm {

void append_error(const std::string& path, std::string_view line) noexcept {
    try {
        // Links are not followed: a run directory from elsewhere may have links to other files.
        const auto slash = path.rfind('/');
        const auto folder = path.substr(0, slash);
        ::mkdir(folder.c_str(), 0777);
        const FileHandle within{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
        // O_NONBLOCK: opening a pipe of that name would otherwise block until it has a reader.
        const FileHandle file{::openat(within.get(), path.c_str() + slash + 1,
                                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                                       0666)};
        if (!within || !file) {
            return;
        }
        const std::string text =
            format_calendar(calendar_seconds()) + " " + printable(line, Newlines::kept) + "\n";
        [[maybe_unused]] const ssize_t ignored = ::write(file.get(), text.data(), text.size());
    } catch (...) {
        // If memory for a line of text is missing, the process still ends.
    }
}

}  // namespace ziggurat::comm
