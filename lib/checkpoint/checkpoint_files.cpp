#include "checkpoint/checkpoint_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/text/units.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Open files reserved for other uses in the process: MPI connections, data, logs.
constexpr rlim_t spare_files = 256;

/// Opens the parent folder: this makes an NFS client fetch its current entries from the server.
void refresh(const std::string& path) {
    std::error_code ignored;
    const fs::path whole = fs::absolute(path, ignored).lexically_normal();
    const fs::directory_iterator entries{(whole.has_filename() ? whole : whole.parent_path()).parent_path(),
                                         ignored};
}

std::optional<std::string> problem_of(const struct stat& status, const FileEntry& entry) {
    if (!S_ISREG(status.st_mode)) {
        return "it is not a file";
    }
    if (status.st_size != entry.bytes) {
        return fmt::format("it has {} bytes and was written with {}", format_grouped(status.st_size),
                           format_grouped(entry.bytes));
    }
    return std::nullopt;
}

std::string reason(int error_number) {
    return error_number == ENOENT ? "it is missing" : std::string{std::strerror(error_number)};
}

std::string of_process(const FileHandle& file) {
    return fmt::format("/proc/self/fd/{}", file.get());
}

}  // namespace

CheckpointFiles::CheckpointFiles(const std::string& path) : path_{path}, folder_{path} {
    if (!folder_.is_held()) {
        refresh(path);  // another node may have just created it
        folder_ = storage::DirectoryHandle{path};
    }
}

Manifest CheckpointFiles::read_manifest() const {
    std::optional<std::string> text;
    try {
        text = read_manifest_text(folder_.fd_path());
    } catch (const Error& error) {
        throw Error{error.kind(), folder_.with_display_path(error.what()), error.where()};
    }
    return text ? parse_manifest(*text, path_ + "/COMPLETE") : checkpoint::read_manifest(path_);
}

void CheckpointFiles::expect(std::size_t files) {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    const rlim_t wanted = files + 2 * spare_files;
    if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
        rlimit raised = limit;
        raised.rlim_cur = std::min(wanted, limit.rlim_max);
        limit = ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised : limit;
    }
    room_ = limit.rlim_cur > spare_files ? static_cast<std::size_t>(limit.rlim_cur - spare_files) : 0;
}

const FileHandle* CheckpointFiles::held(const FileEntry& entry) const {
    const auto found = files_.find(entry.name);
    return found == files_.end() ? nullptr : &found->second;
}

std::optional<std::string> CheckpointFiles::size_problem(const FileEntry& entry) const {
    struct stat status = {};
    const auto* file = held(entry);
    const bool is_known = file != nullptr ? ::fstat(file->get(), &status) == 0
                                          : ::stat(fd_path_of(entry).c_str(), &status) == 0;
    return is_known ? problem_of(status, entry) : reason(errno);
}

std::optional<std::string> CheckpointFiles::hold(const FileEntry& entry) {
    if (auto problem = size_problem(entry); problem || held(entry) != nullptr || files_.size() >= room_) {
        return problem;
    }
    FileHandle file{::open(fd_path_of(entry).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file) {
        files_.emplace(entry.name, std::move(file));
        return size_problem(entry);
    }
    return errno == EMFILE || errno == ENFILE ? std::nullopt : std::optional{reason(errno)};
}

std::string CheckpointFiles::fd_path_of(const FileEntry& entry) const {
    const auto* file = held(entry);
    return file != nullptr ? of_process(*file) : folder_.fd_path() + "/" + entry.name;
}

std::string CheckpointFiles::with_display_path(std::string text, const FileEntry& entry) const {
    const auto fd_path = fd_path_of(entry);
    const auto name = path_ + "/" + entry.name;
    for (auto at = text.find(fd_path); at != std::string::npos; at = text.find(fd_path, at + name.size())) {
        text.replace(at, fd_path.size(), name);
    }
    return text;
}

storage::DirectFile CheckpointFiles::open(const FileEntry& entry) const {
    const auto* file = held(entry);
    std::error_code ignored;
    const bool has_way = file != nullptr && fs::exists(of_process(*file), ignored);  // true if /proc exists
    return storage::DirectFile::open(has_way ? of_process(*file) : folder_.fd_path() + "/" + entry.name,
                                     path_ + "/" + entry.name);
}

bool CheckpointFiles::is_in_place() const {
    refresh(path_);
    return folder_.is_held() ? folder_.path_status() == storage::PathStatus::unchanged : is_present(path_);
}

bool is_present(const std::string& path) {
    refresh(path);
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

}  // namespace ziggurat::checkpoint
