#include "train/control/control_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/quiet_thread.hpp"

namespace ziggurat::train {
namespace {

bool exists(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0;
}

/// Deletes a file. Returns the reason of a failure; empty if the file no longer exists.
std::string remove_file(const std::string& path) {
    return ::unlink(path.c_str()) == 0 || errno == ENOENT ? "" : std::strerror(errno);
}

}  // namespace

const char* name_of(ControlFile file) {
    constexpr EnumArray<ControlFile, const char*, num_touch_files> names{"STOP", "CHECKPOINT", "VALIDATE",
                                                                         "REPORT"};
    return names[file];
}

ControlFiles::ControlFiles(std::string folder, std::chrono::milliseconds every) : every_{every} {
    for (std::size_t i = 0; i < num_touch_files; ++i) {
        looks_[i].path = folder + "/" + name_of(static_cast<ControlFile>(i));
        if (!exists(looks_[i].path)) {
            continue;
        }
        const auto failure = remove_file(looks_[i].path);
        looks_[i].is_stuck = !failure.empty();
        notes_.push_back(failure.empty()
                             ? "deleted '" + looks_[i].path + "', made before this run began"
                             : "'" + looks_[i].path + "' is older than this run and cannot be deleted (" +
                                   failure + "); it is ignored. Delete it by hand");
    }
    thread_ = start_quiet_thread("the thread that polls for files such as STOP", [this] { run(); });
}

ControlFiles::~ControlFiles() {
    {
        const std::lock_guard lock{looking_};
        is_stopping_ = true;
    }
    stops_.notify_all();
    thread_.join();
}

void ControlFiles::run() {
    pthread_setname_np(pthread_self(), "zg-files");
    std::unique_lock lock{looking_};
    while (!stops_.wait_for(lock, every_, [this] { return is_stopping_; })) {
        check_now();
    }
}

void ControlFiles::check_now() {
    for (auto& file : looks_) {
        const bool is_present = exists(file.path);
        file.is_stuck = file.is_stuck && is_present;
        if (is_present && !file.is_stuck) {
            file.is_present = true;
        }
    }
}

std::string ControlFiles::acknowledged(ControlFile file) {
    const std::lock_guard lock{looking_};  // else a concurrent check_now() could set is_present again
    auto& check_now = look_of(file);
    auto failure = remove_file(check_now.path);
    check_now.is_present = false;
    check_now.is_stuck = !failure.empty();
    return failure;
}

}  // namespace ziggurat::train
