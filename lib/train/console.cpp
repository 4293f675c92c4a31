#include "train/console.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace ziggurat::train {
namespace {

constexpr std::string_view clear_line = "\r\x1b[K";
/// Text kept for a log that opens later; a program that never opens one must not grow.
constexpr std::size_t most_said_bytes = 1 << 20;

/// What `descriptor` of a process leads to, such as `/dev/pts/3`; empty when that cannot be read.
std::string target_of(const std::string& process, int descriptor) {
    std::error_code failure;
    return std::filesystem::read_symlink("/proc/" + process + "/fd/" + std::to_string(descriptor), failure)
        .string();
}

/// The parent of a process; empty at the end of the line.
std::string parent_of(const std::string& process) {
    std::ifstream status{"/proc/" + process + "/status"};
    for (std::string word; status >> word;) {
        if (word == "PPid:") {
            status >> word;
            return word == "0" ? "" : word;
        }
    }
    return "";
}

}  // namespace

Display display_of(int file) {
    return file >= 0 && ::isatty(file) == 1 ? Display::terminal : Display::text;
}

Display display_behind_launcher(int file) {
    if (display_of(file) == Display::text) {
        return Display::text;
    }
    const std::string mine = target_of("self", file);
    std::string process = parent_of("self");
    while (!process.empty() && target_of(process, STDOUT_FILENO) == mine) {
        process = parent_of(process);
    }
    const std::string theirs = process.empty() ? "" : target_of(process, STDOUT_FILENO);
    return theirs.starts_with("/dev/pts/") || theirs.starts_with("/dev/tty") ? Display::terminal
                                                                             : Display::text;
}

Console::Console(int file, Display display) : file_{file}, display_{display} {
    buffer_.reserve(4096);
}

void Console::keep_log(const std::string& path) {
    log_ = open_for_writing(path, OpenMode::append);
    write_all(log_.get(), said_);
    said_.clear();
    said_.shrink_to_fit();
}

void Console::print(std::string_view text) {
    if (file_ < 0) {
        return;
    }
    buffer_.clear();
    if (has_live_line_) {
        buffer_ += clear_line;
        has_live_line_ = false;
    }
    const std::size_t begin = buffer_.size();
    buffer_ += text;
    if (buffer_.size() == begin || buffer_.back() != '\n') {
        buffer_ += '\n';
    }
    write_all(file_, buffer_);
    const std::string_view lines = std::string_view{buffer_}.substr(begin);
    if (log_) {
        write_all(log_.get(), lines);
    } else if (said_.size() + lines.size() <= most_said_bytes) {
        said_ += lines;
    }
}

void Console::warn(std::string_view text) {
    print("warning: " + std::string{text});
}

void Console::live(std::string_view text) {
    if (!is_terminal()) {
        return;
    }
    buffer_.assign(clear_line);
    buffer_ += text;
    write_all(file_, buffer_);
    has_live_line_ = true;
}

Console::~Console() {
    if (has_live_line_) {
        write_all(file_, clear_line);
    }
}

}  // namespace ziggurat::train
