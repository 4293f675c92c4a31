#include "train/console/screen.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace ziggurat::train {
namespace {

/// Returns the path of the link to the file of `descriptor` in a process.
std::string link_of(const std::string& process, int descriptor) {
    return "/proc/" + process + "/fd/" + std::to_string(descriptor);
}

/// Returns the target of that link, such as `/dev/pts/3`; empty if it cannot be read.
std::string target_of(const std::string& process, int descriptor) {
    std::error_code failure;
    return std::filesystem::read_symlink(link_of(process, descriptor), failure).string();
}

/// Returns the parent of a process; empty for the first process.
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

Screen Screen::of(int file, Escapes escapes) {
    return file >= 0 && ::isatty(file) == 1 ? Screen{FileHandle{}, file, escapes} : Screen{};
}

Screen Screen::under_launcher(int file, Escapes escapes) {
    if (!of(file).is_terminal()) {
        return {};
    }
    const std::string mine = target_of("self", file);
    std::string process = parent_of("self");
    while (!process.empty() && target_of(process, STDOUT_FILENO) == mine) {
        process = parent_of(process);
    }
    const std::string theirs = process.empty() ? "" : target_of(process, STDOUT_FILENO);
    if (!theirs.starts_with("/dev/pts/") && !theirs.starts_with("/dev/tty")) {
        return {};
    }
    // Opened only to read the terminal size. If this is not permitted, the terminal of this rank is used
    // instead, whose size is not set.
    FileHandle opened{
        ::open(link_of(process, STDOUT_FILENO).c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)};
    const int shown_on = opened ? opened.get() : file;
    return {std::move(opened), shown_on, escapes};
}

int Screen::columns() const noexcept {
    winsize size{};
    return is_terminal() && ::ioctl(file_, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace ziggurat::train
