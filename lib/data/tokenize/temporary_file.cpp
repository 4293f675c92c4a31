#include "data/tokenize/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text/printable.hpp"
#include "data/tokenize/output_names_impl.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

std::string this_host() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

/// Returns an open file without a name; empty if the system cannot create it.
FileHandle open_nameless() {
    std::error_code problem;
    const auto folder = fs::temp_directory_path(problem);
    FileHandle file{::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (!file) {
        auto name = (folder / "ziggurat.XXXXXX").string();
        file = FileHandle{::mkostemp(name.data(), O_CLOEXEC)};
        if (file) {
            ::unlink(name.c_str());
        }
    }
    return file ? std::move(file) : FileHandle{::memfd_create("ziggurat", MFD_CLOEXEC)};
}

/// Returns HOST of `HOST-PROCESS.tmp`; empty if the text has another form.
std::string_view host_in(std::string_view name) {
    if (!name.ends_with(unfinished_ending)) {
        return {};
    }
    name.remove_suffix(std::string_view{unfinished_ending}.size());
    const auto dash = name.rfind('-');
    const bool has_process = dash != std::string_view::npos && dash + 1 < name.size() &&
                             name.substr(dash + 1).find_first_not_of("0123456789_") == std::string_view::npos;
    return has_process ? name.substr(0, dash) : std::string_view{};
}

/// Removes a file unless a process has locked it.
void remove_unlocked(const std::string& path) {
    const FileHandle file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat opened {};
    struct stat named {};
    const bool is_free = file && ::fstat(file.get(), &opened) == 0 && S_ISREG(opened.st_mode) &&
                         ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    // The owner may have completed and renamed the file before the lock.
    if (is_free && ::lstat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino &&
        named.st_dev == opened.st_dev) {
        ::unlink(path.c_str());
    }
}

}  // namespace

TemporaryFile::TemporaryFile(std::string path) : path_{std::move(path)} {
    do {
        open();
    } while (!lock());
}

TemporaryFile::TemporaryFile() : file_{open_nameless()} {
    if (!file_) {
        throw UnwritableFile{
            ErrorKind::resource,
            fmt::format("cannot create a temporary file ({}). Set TMPDIR to a folder on a disk "
                        "with room.",
                        std::generic_category().message(errno))};
    }
}

TemporaryFile::~TemporaryFile() {
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
    }
}

void TemporaryFile::open() {
    constexpr int max_tries = 100;
    const auto begin = fmt::format("{}.{}-{}", path_, this_host(), ::getpid());
    for (int i = 0;; ++i) {
        // Two containers may have a host name and a process number in common.
        auto name = fmt::format("{}{}{}", begin, i == 0 ? "" : fmt::format("_{}", i), unfinished_ending);
        file_ = FileHandle{::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666)};
        if (file_) {
            temporary_ = std::move(name);
            return;
        }
        if (errno != EEXIST || i == max_tries) {
            writing([&] { storage::throw_io_error("write", name, errno); });
        }
    }
}

/// Returns false if another process has removed the file before it was locked.
bool TemporaryFile::lock() {
    struct stat status {};
    const bool is_locked = ::flock(file_.get(), LOCK_EX) == 0;
    return !is_locked || (::fstat(file_.get(), &status) == 0 && status.st_nlink > 0);
}

template <class Work>
void TemporaryFile::writing(const Work& work) const {
    try {
        work();
    } catch (const Error& error) {
        throw UnwritableFile{error.kind(), error.what(), error.where()};
    }
}

void TemporaryFile::append(std::string_view bytes) {
    writing([&] { write_output(file_.get(), temporary_, bytes); });
}

void TemporaryFile::complete(std::string_view first_bytes) {
    writing([&] {
        if (::lseek(file_.get(), 0, SEEK_SET) != 0) {
            storage::throw_io_error("write", temporary_, errno);
        }
        write_output(file_.get(), temporary_, first_bytes);
        if (!path_.empty()) {
            storage::flush_file(file_.get(), temporary_);
            storage::rename_path(temporary_, path_);
        }
    });
    temporary_.clear();
}

void remove_abandoned(const std::string& path, std::string_view suffix) {
    const fs::path whole{path};
    const auto folder = whole.has_parent_path() ? whole.parent_path() : fs::path{"."};
    const auto prefix = whole.filename().string() + ".";
    const auto end = std::string{suffix} + ".";
    const auto host = this_host();
    const bool sees_all_locks = storage::is_local(folder.string());
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator{folder, unreadable}) {
        const auto name = entry.path().filename().string();
        auto rest = std::string_view{name};
        if (!rest.starts_with(prefix)) {
            continue;
        }
        rest.remove_prefix(prefix.size());
        if (!suffix.empty()) {
            const auto at = rest.find(end);
            rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + end.size());
        }
        const auto owner = host_in(rest);
        if (!owner.empty() && (sees_all_locks || owner == host)) {
            remove_unlocked(entry.path().string());
        }
    }
}

}  // namespace ziggurat::data
