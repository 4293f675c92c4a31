#include "train/report/run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "train/report/metrics_history.hpp"
#include "train/report/run_files.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what,
                       const std::string& path,
                       const std::string& reason,
                       const char* remedy) {
    throw Error{ErrorKind::resource, what + " '" + path + "' (" + reason + "). " + remedy};
}

/// is_a_job_in() holds the lock for a short time, so locking is retried.
constexpr int max_looks_at_lock = 5;
constexpr unsigned microseconds_of_a_look = 2000;

constexpr const char* checkpoints_name = "ckpt";

/// Returns the n of `#<name>.<n>#`; nullopt for other names.
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

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code problem;
    for (fs::directory_iterator entry{folder, problem}, end; !problem && entry != end;
         entry.increment(problem)) {
        names.push_back(entry->path().filename().string());
    }
    if (problem) {
        fail("cannot list the run directory", folder, problem.message(),
             "Set run.dir to a directory of yours.");
    }
    return names;
}

/// Returns the name of the highest step in `checkpoints`, even if that is damaged; empty without steps.
std::string newest_step(const std::string& checkpoints) {
    std::string newest;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator{checkpoints, none}) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("step-") && !name.ends_with(".tmp")) {
            newest = std::max(newest, name);
        }
    }
    return newest;
}

const std::string& make_folder(const std::string& path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
        fail("cannot create the run directory", path,
             failure ? failure.message() : "a file of that name exists",
             "Set run.dir to a path where you may create a directory.");
    }
    return path;
}

/// Locks an open folder. Returns 0 or the errno: EWOULDBLOCK if another job holds the lock.
int try_lock(int descriptor) {
    int failure = 0;
    const auto is_taken = [&] {
        failure = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        return failure == EWOULDBLOCK;
    };
    for (int looks = 0; looks < max_looks_at_lock && is_taken(); ++looks) {
        ::usleep(microseconds_of_a_look);
    }
    return is_taken() ? EWOULDBLOCK : failure;
}

/// Locks the folder until the process ends in any way.
///
/// Returns the reason if it cannot be locked; else empty.
std::string lock(const storage::DirectoryHandle& folder, const std::string& path) {
    if (!folder.is_held()) {
        fail("cannot open the run directory", path, std::strerror(errno),
             "Set run.dir to a directory of yours.");
    }
    const int failure = try_lock(folder.descriptor());
    if (failure == EWOULDBLOCK) {
        fail("cannot use the run directory", path, "another job is running in it",
             "Wait for it, or give this run a directory of its own: run.dir=...");
    }
    return lock_problem_of(failure, path);
}

}  // namespace

std::string lock_problem_of(int error, const std::string& path) {
    return error == 0 || error == EWOULDBLOCK || error == EINTR
               ? ""
               : "cannot lock the run directory '" + path + "' (" + std::strerror(error) +
                     ", as on NFS). Other jobs are not kept out of it: start only one at a time.";
}

std::string error_file_of(const std::string& run_dir, int rank) {
    auto number = std::to_string(rank);
    number.insert(0, number.size() < 5 ? 5 - number.size() : 0, '0');
    return run_dir + "/errors/rank" + number + ".log";
}

void expect_no_checkpoints(const std::string& run_dir) {
    const std::string newest = newest_step(run_dir + "/" + checkpoints_name);
    if (!newest.empty()) {
        throw Error{ErrorKind::deck,
                    "cannot start from scratch in '" + run_dir +
                        "' (run.resume is never, and there are checkpoints up to " + newest +
                        "). Resume with run.resume=auto, rename the checkpoints with --backup, or set "
                        "run.dir to another directory."};
    }
}

RunDirectory::RunDirectory(const std::string& path) : path_{path}, folder_{make_folder(path)} {
    lock_problem_ = lock(folder_, path_);
    expect_no_links(path_);
    if (const auto problem = lock_checkpoints(); !problem.empty()) {
        throw Error{ErrorKind::resource, problem};
    }
}

std::string RunDirectory::lock_checkpoints() {
    const auto path = in_folder(checkpoints_name);
    FileHandle now{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    struct stat held {};
    struct stat found {};
    const bool is_held = now && checkpoints_ && ::fstat(checkpoints_.get(), &held) == 0 &&
                         ::fstat(now.get(), &found) == 0 && held.st_dev == found.st_dev &&
                         held.st_ino == found.st_ino;
    if (!now || is_held) {
        return "";
    }
    if (try_lock(now.get()) == EWOULDBLOCK) {
        return "cannot use the folder of checkpoints '" + folder_.with_display_path(path) +
               "' (another job writes checkpoints there). Wait for it, or, if the folder is a link, remove "
               "the "
               "link.";
    }
    checkpoints_ = std::move(now);
    return "";
}

std::string RunDirectory::next_message() {
    const storage::PathStatus now = folder_.path_status();
    if (now == last_reported_) {
        return "";
    }
    last_reported_ = now;
    switch (now) {
        case storage::PathStatus::moved:
            return "run directory '" + path_ + "' was renamed to '" + folder_.name() +
                   "'; this run still writes there. To resume, set run.dir to the new name.";
        case storage::PathStatus::removed:
            return "run directory '" + path_ +
                   "' was removed during the run: its log, metrics and checkpoints up to now are lost. "
                   "The next checkpoint recreates it.";
        case storage::PathStatus::unchanged:
            break;
    }
    return "run directory '" + path_ + "' has its original name again";
}

void RunDirectory::reopen() {
    make_folder(path_);
    if (const std::string newest = newest_step(file(checkpoints_name)); !newest.empty()) {
        fail("cannot recreate the run directory", path_,
             "it was removed, and checkpoints of another run exist there",
             "Move them away. Then the next checkpoint of this run is written there.");
    }
    const storage::DirectoryHandle now{path_};
    lock(now, path_);
    folder_.reopen(now);
    last_reported_ = storage::PathStatus::unchanged;
}

std::string RunDirectory::file(std::string_view name) const {
    return path_ + "/" + std::string{name};
}

void RunDirectory::start_from_scratch(EarlierCheckpoints checkpoints) {
    if (checkpoints == EarlierCheckpoints::refuse) {
        expect_no_checkpoints(path_);
    }
    const std::string newest = newest_step(file(checkpoints_name));
    std::error_code none;
    const bool had_checkpoints = fs::exists(file(checkpoints_name) + "/LATEST", none);
    std::vector<std::string> earlier;
    for (const std::string& name : names_in(path_)) {
        if (is_run_file(name) || (name == checkpoints_name && (!newest.empty() || had_checkpoints))) {
            earlier.push_back(name);
        }
    }
    if (earlier.empty()) {
        return;
    }
    const std::string number = std::to_string(move_aside(earlier));
    notes_.push_back("renamed " + std::to_string(earlier.size()) + " files of an earlier run in '" + path_ +
                     "' to '#<name>." + number + "#'" +
                     (newest.empty() ? "" : ", including its checkpoints up to " + newest) +
                     "; this run starts from scratch");
}

int RunDirectory::move_aside(const std::vector<std::string>& names) {
    int number = 1;
    for (const std::string& name : names_in(path_)) {
        number = std::max(number, aside_number(name).value_or(0) + 1);
    }
    for (const std::string& name : names) {
        const std::string aside = "#" + name + "." + std::to_string(number) + "#";
        std::error_code failure;
        fs::rename(in_folder(name), in_folder(aside), failure);
        if (failure) {
            fail("cannot rename the earlier run's", file(name), failure.message(),
                 "Set run.dir to a directory of its own.");
        }
    }
    return number;
}

void RunDirectory::go_on_from(std::int64_t step) {
    const MetricsCut cut = cut_metrics(path_, step);
    if (cut.lines > 0) {
        const auto again = cut.last_step - step;
        notes_.push_back(
            (again > 0 ? "the run had reached step " + std::to_string(cut.last_step) + ": " +
                             (again == 1 ? "it is trained again"
                                         : "the last " + std::to_string(again) + " steps are trained again") +
                             ". "
                       : "") +
            "metrics.jsonl continues after step " + std::to_string(step) + "; " + std::to_string(cut.lines) +
            (cut.lines == 1 ? " later line was moved to '" : " later lines were moved to '") + cut.kept_in +
            "'");
    }
    if (!cut.missing_steps.empty()) {
        notes_.push_back(
            "metrics.jsonl has no rows for steps " + cut.missing_steps + " (up to step " +
            std::to_string(step) +
            ", after which the run resumes): they were deleted, or lost with the machine. Weights are not "
            "affected.");
    }
    std::error_code ignored;  // if DONE cannot be deleted, it is replaced at the end
    fs::remove(file(done_name), ignored);
}

void RunDirectory::write_done(std::int64_t step) const {
    write(done_name, "step " + std::to_string(step) + "\n");
}

FileHandle RunDirectory::open(const std::string& fd_path, OpenMode mode) const {
    try {
        return open_for_writing(fd_path, mode);
    } catch (const Error& error) {
        throw Error{error.kind(), folder_.with_display_path(error.what())};
    }
}

void RunDirectory::append(std::string_view name, std::string_view text) const {
    const FileHandle out = open(in_folder(name), OpenMode::append);
    if (const int failure = write_all(out.get(), text); failure != 0) {
        fail("cannot write", folder_.with_display_path(in_folder(name)), std::strerror(failure),
             "Free some space, or set run.dir to a disk with room.");
    }
}

void RunDirectory::write(std::string_view name, std::string_view text) const {
    const std::string target = in_folder(name);
    const std::string draft = target + ".tmp";
    const FileHandle out = open(draft, OpenMode::replace);
    if (const int failure = write_all(out.get(), text); failure != 0) {
        ::unlink(draft.c_str());
        fail("cannot write", folder_.with_display_path(target), std::strerror(failure),
             "Free some space, or set run.dir to a disk with room.");
    }
    std::error_code failure;
    fs::rename(draft, target, failure);
    if (failure) {
        fail("cannot write", folder_.with_display_path(target), failure.message(),
             "Set run.dir to a directory where you may write.");
    }
}

}  // namespace ziggurat::train
