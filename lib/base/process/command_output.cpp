#include "base/process/command_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "base/process/start_process.hpp"

namespace ziggurat {
namespace {

/// Upper bound of the output that is read: more than any command used here prints.
constexpr std::size_t max_bytes = 1 << 16;

/// Reads until end of file. Returns false on an error or if `end_ns` passes first.
bool read_all(int file, std::int64_t end_ns, std::string& into) {
    std::array<char, 4096> part{};
    while (into.size() < max_bytes) {
        const auto left_ms = (end_ns - monotonic_ns()) / 1'000'000;
        pollfd asked{file, POLLIN, 0};
        const int ready = left_ms > 0 ? ::poll(&asked, 1, static_cast<int>(left_ms)) : 0;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        const ssize_t got = ready > 0 ? ::read(file, part.data(), part.size()) : -1;
        if (got == 0) {
            return true;
        }
        if (got < 0 && (ready <= 0 || errno != EINTR)) {
            return false;
        }
        into.append(part.data(), std::max<ssize_t>(got, 0));
    }
    return true;
}

}  // namespace

std::optional<std::string> command_output(const std::vector<std::string>& command, double timeout_seconds) {
    std::array<int, 2> ends{};
    if (command.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return std::nullopt;
    }
    const std::int64_t end_ns = monotonic_ns() + static_cast<std::int64_t>(timeout_seconds * 1e9);
    const pid_t process = start_process({.command = command, .output = ends[1]});
    ::close(ends[1]);
    std::string text;
    const bool is_read = process > 0 && read_all(ends[0], end_ns, text);
    ::close(ends[0]);
    if (process <= 0) {
        return std::nullopt;
    }
    if (!is_read) {
        ::kill(process, SIGKILL);
    }
    const bool is_well = wait_for_process(process) == 0 && is_read;
    return is_well ? std::optional{text} : std::nullopt;
}

}  // namespace ziggurat
