#include "data/mapped_file.hpp"

#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/text/looked_in.hpp"
#include "data/sigbus_handler.hpp"

namespace ziggurat::data {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

FileStamp stamp_from(const struct stat& status) {
    return {.device = status.st_dev,
            .inode = status.st_ino,
            .bytes = status.st_size,
            .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

[[noreturn]] void refuse(const std::string& key,
                         const std::string& path,
                         const std::string& reason,
                         const std::string& position = {}) {
    std::string message = key;
    message += ": cannot read '" + path + "' (" + reason + ", seen from " + host_name() + position +
               "). Name a file that every node can read.";
    throw Error{ErrorKind::deck, message};
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? std::optional{stamp_from(status)} : std::nullopt;
}

MappedFile::MappedFile(const std::string& path, const std::string& key) : MappedFile{path, key, path} {}

MappedFile::MappedFile(const std::string& path, const std::string& key, const std::string& name)
    : path_{name} {
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    const FileHandle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file) {
        const int problem = errno;
        refuse(key, path, std::strerror(problem), problem == ENOENT ? " in " + looked_in(path) : "");
    }
    struct stat status {};
    if (fstat(file.get(), &status) != 0) {
        refuse(key, path, std::strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        refuse(key, path, S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
    }
    if (status.st_size == 0) {
        refuse(key, path, "an empty file");
    }
    stamp_ = stamp_from(status);
    void* mapping = mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapping == MAP_FAILED) {
        refuse(key, path, std::strerror(errno));
    }
    data_ = static_cast<const std::byte*>(mapping);
    name_lost_pages_of(content(), path_);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) {
        unregister_mapping(content());
        munmap(const_cast<std::byte*>(data_), bytes());
    }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_{std::move(other.path_)},
      data_{std::exchange(other.data_, nullptr)},
      stamp_{std::exchange(other.stamp_, {})} {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(stamp_, other.stamp_);
    return *this;
}

std::vector<std::string> expand_paths(const std::string& pattern, const std::string& key) {
    if (access(pattern.c_str(), F_OK) == 0 || pattern.find_first_of("*?[") == std::string::npos) {
        return {pattern};  // missing files are reported when they are opened
    }
    glob_t found{};
    const int code = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
    globfree(&found);
    if (paths.empty()) {
        refuse(key, pattern, "no file matches this pattern", " in " + looked_in(pattern));
    }
    return paths;
}

}  // namespace ziggurat::data
