#include "train/run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what,
                       const std::string& path,
                       const std::string& why,
                       const char* remedy) {
    throw Error{ErrorKind::resource, what + " '" + path + "' (" + why + "). " + remedy};
}

/// What a run writes; everything else in the folder is the user's.
bool is_ours(const std::string& name) {
    for (const char* ours : {"deck.effective.yaml", "env.txt", "run.log", "metrics.jsonl", "perf.txt"}) {
        if (name == ours) {
            return true;
        }
    }
    return name.starts_with("trace.rank") && name.ends_with(".json");
}

/// The n of `#<name>.<n>#`.
std::optional<int> aside_number(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    if (name.size() < 4 || name.front() != '#' || name.back() != '#' || dot == std::string::npos) {
        return std::nullopt;
    }
    const std::string digits = name.substr(dot + 1, name.size() - dot - 2);
    const bool is_number =
        !digits.empty() && digits.size() <= 6 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return is_number ? std::optional{std::stoi(digits)} : std::nullopt;
}

/// Holds the folder until the process ends, however it ends.
FileHandle lock(const std::string& path) {
    FileHandle folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder) {
        fail("cannot open the run directory", path, std::strerror(errno),
             "Set run.dir to a directory of yours.");
    }
    // Some network file systems have no locks; then two jobs are kept apart by their names only.
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fail("cannot use the run directory", path, "another job is running in it",
             "Wait for it, or give this run a directory of its own: run.dir=...");
    }
    return folder;
}

}  // namespace

RunDirectory::RunDirectory(const std::string& path) : path_{path} {
    std::error_code failure;
    fs::create_directories(path_, failure);
    if (!fs::is_directory(path_)) {
        fail("cannot create the run directory", path_,
             failure ? failure.message() : "a file of that name is in the way",
             "Set run.dir to a path where you may create a directory.");
    }
    lock_ = lock(path_);
    move_earlier_files_aside();
}

std::string RunDirectory::file(std::string_view name) const {
    return path_ + "/" + std::string{name};
}

void RunDirectory::move_earlier_files_aside() {
    std::vector<std::string> earlier;
    int number = 1;
    for (const fs::directory_entry& entry : fs::directory_iterator{path_}) {
        const std::string name = entry.path().filename().string();
        if (is_ours(name)) {
            earlier.push_back(name);
        }
        number = std::max(number, aside_number(name).value_or(0) + 1);
    }
    for (const std::string& name : earlier) {
        const std::string aside = "#" + name + "." + std::to_string(number) + "#";
        std::error_code failure;
        fs::rename(file(name), file(aside), failure);
        if (failure) {
            fail("cannot keep the earlier run's", file(name), failure.message(),
                 "Set run.dir to a directory of its own.");
        }
    }
    if (!earlier.empty()) {
        notes_.push_back("kept " + std::to_string(earlier.size()) + " files of an earlier run in '" + path_ +
                         "' as '#<name>." + std::to_string(number) + "#'; this run begins afresh");
    }
}

void RunDirectory::write(std::string_view name, std::string_view text) const {
    const std::string target = file(name);
    const std::string draft = target + ".tmp";
    const FileHandle out = open_for_writing(draft, OpenMode::replace);
    if (const int failure = write_all(out.get(), text); failure != 0) {
        ::unlink(draft.c_str());
        fail("cannot write", target, std::strerror(failure),
             "Free some space, or set run.dir to a disk with room.");
    }
    std::error_code failure;
    fs::rename(draft, target, failure);
    if (failure) {
        fail("cannot write", target, failure.message(), "Set run.dir to a directory where you may write.");
    }
}

}  // namespace ziggurat::train
