#include "comm/watch/error_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::comm {

void append_error(const std::string& path, std::string_view line) noexcept {
    try {
        ::mkdir(path.substr(0, path.rfind('/')).c_str(), 0777);
        // O_NONBLOCK: opening a pipe of that name would otherwise block until it has a reader.
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
        if (file < 0) {
            return;
        }
        const std::string text =
            format_calendar(calendar_seconds()) + " " + printable(line, Newlines::kept) + "\n";
        [[maybe_unused]] const ssize_t ignored = ::write(file, text.data(), text.size());
        ::close(file);
    } catch (...) {
        // If memory for a line of text is missing, the process still ends.
    }
}

}  // namespace ziggurat::comm
