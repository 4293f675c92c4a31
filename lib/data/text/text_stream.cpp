#include "data/text/text_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/looked_in.hpp"
#include "base/text/printable.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::data {
namespace {

constexpr std::size_t read_bytes = std::size_t{256} << 10;
constexpr int ms_between_checks = 200;

[[noreturn]] void refuse(const std::string& path, const std::string& reason, const std::string& remedy) {
    throw Error{ErrorKind::deck, fmt::format("cannot read '{}' ({}). {}", printable(path), reason, remedy)};
}

FileHandle open_input(const std::string& path) {
    FileHandle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file) {
        const auto position = errno == ENOENT ? " in " + looked_in(path) : "";
        refuse(path, std::strerror(errno) + position, "Name a file or pipe that can be read.");
    }
    struct stat status {};
    if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
        refuse(path, "a directory", "Name the files in it.");
    }
    return file;
}

}  // namespace

TextStream::TextStream(std::string path, StopCheck stop)
    : path_{std::move(path)}, stop_{std::move(stop)}, file_{open_input(path_)} {}

TextStream::~TextStream() = default;

/// A read of an empty pipe continues after a signal, so it could not be stopped.
void TextStream::wait_for_input() const {
    pollfd input{.fd = file_.get(), .events = POLLIN, .revents = 0};
    int ready = 0;
    do {
        check(stop_);
        ready = ::poll(&input, 1, ms_between_checks);
    } while (ready == 0 || (ready < 0 && errno == EINTR));  // the signal may be the request to stop
}

std::string TextStream::read_file() {
    if (stop_) {
        wait_for_input();
    }
    std::string bytes(read_bytes, '\0');
    for (;;) {
        const auto count = ::read(file_.get(), bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.resize(count);
            file_bytes_ += count;
            return bytes;
        }
        if (errno != EINTR) {
            storage::throw_io_error("read", path_, errno);
        }
    }
}

void TextStream::choose_unpacker(const std::string& first) {
    const auto kind = recognise_file(first);
    if (kind && kind->kind == FileKind::gzip) {
        unpacker_ = make_gzip_unpacker();
    } else if (kind && kind->kind == FileKind::zstd) {
        unpacker_ = make_zstd_unpacker();
    }
}

bool TextStream::unpack_next(std::string& text) {
    if (has_ended_) {
        return false;
    }
    auto bytes = read_file();
    if (!has_begun_) {
        // The first bytes of a pipe may arrive in small parts.
        while (bytes.size() < recognised_bytes) {
            const auto more = read_file();
            if (more.empty()) {
                break;
            }
            bytes += more;
        }
        choose_unpacker(bytes);
        has_begun_ = true;
    }
    has_ended_ = bytes.empty();
    if (unpacker_ == nullptr) {
        text += bytes;
        return !has_ended_;
    }
    if (has_ended_ && !unpacker_->is_complete()) {
        refuse(path_, fmt::format("its compressed data end too early, after {} bytes", file_bytes_),
               "Fetch the file again.");
    }
    if (const auto problem = unpacker_->unpack(bytes, text); !problem.empty()) {
        refuse(path_, fmt::format("{}, before byte {} of the compressed file", problem, file_bytes_),
               "Fetch the file again.");
    }
    return !has_ended_;
}

std::string_view TextStream::beginning(std::size_t min) {
    while (ahead_.size() < min && unpack_next(ahead_)) {}
    return ahead_;
}

bool TextStream::read(std::string& text) {
    if (!ahead_.empty()) {
        text += std::exchange(ahead_, {});
        return true;
    }
    return unpack_next(text);
}

std::string read_text(const std::string& path, std::int64_t max_bytes) {
    TextStream stream{path};
    std::string text;
    while (stream.read(text)) {
        if (std::ssize(text) > max_bytes) {
            refuse(path, fmt::format("its text has more than {} bytes", max_bytes),
                   "Split it into smaller files.");
        }
    }
    return text;
}

}  // namespace ziggurat::data
