#include "base/control_group.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_handle.hpp"

namespace ziggurat {
namespace {

/// Files of a group, for one version of control groups.
struct GroupFiles {
    const char* root;
    const char* limit;
    const char* usage;
    const char* given_back;  ///< key of memory.stat
    const char* events;      ///< file that has the key oom_kill
};
constexpr GroupFiles version_1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file", "memory.oom_control"};
constexpr GroupFiles version_2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
                               "memory.events"};

/// Returns the number in a file; `default_value` if the file is missing or holds "max".
std::int64_t number_in(const std::string& path, std::int64_t default_value) {
    std::ifstream file{path};
    std::int64_t number = 0;
    return file >> number ? number : default_value;
}

/// Returns the number after `name` at the beginning of a line; 0 if no line begins with `name`.
std::int64_t statistic(const std::string& path, const std::string& name) {
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        std::istringstream words{line};
        std::string word;
        std::int64_t number = 0;
        if (words >> word >> number && word == name) {
            return number;
        }
    }
    return 0;
}

MemoryGroup group_at(const GroupFiles& files, const std::string& folder) {
    const auto used = number_in(folder + "/" + files.usage, 0);
    const auto given_back = statistic(folder + "/memory.stat", files.given_back);
    return {.granted_bytes = number_in(folder + "/" + files.limit, INT64_MAX),
            .used_bytes = std::max<std::int64_t>(0, used - given_back),
            .folder = folder,
            .events_file = folder + "/" + files.events,
            .kills = statistic(folder + "/" + files.events, "oom_kill")};
}

/// Returns the group with the lowest limit among `group` (`/a/b`) and its ancestors.
MemoryGroup smallest(const GroupFiles& files, std::string group) {
    MemoryGroup min = group_at(files, files.root);
    for (; group.size() > 1; group.resize(group.rfind('/'))) {
        const auto found = group_at(files, files.root + group);
        min = found.granted_bytes < min.granted_bytes ? found : min;
    }
    return min;
}

}  // namespace

/// Source: cgroups(7): lines `0::/group` are of version 2, lines that name the memory controller are of
/// version 1
MemoryGroup memory_group() {
    MemoryGroup min;
    std::ifstream own{"/proc/self/cgroup"};
    for (std::string line; std::getline(own, line);) {
        const auto controllers = line.find(':');
        const auto group = line.find(':', controllers + 1);
        if (controllers == std::string::npos || group == std::string::npos) {
            continue;
        }
        const auto names = "," + line.substr(controllers + 1, group - controllers - 1) + ",";
        const bool is_version_2 = names == ",,";
        if (!is_version_2 && names.find(",memory,") == std::string::npos) {
            continue;
        }
        const auto found = smallest(is_version_2 ? version_2 : version_1, line.substr(group + 1));
        min = found.granted_bytes < min.granted_bytes ? found : min;
    }
    return min;
}

std::int64_t available_memory_bytes() {
    constexpr std::int64_t kibibyte = 1024;
    const auto group = memory_group();
    const auto of_machine = statistic("/proc/meminfo", "MemAvailable:");
    const auto left_by_group = group.granted_bytes < INT64_MAX
                                   ? std::max<std::int64_t>(0, group.granted_bytes - group.used_bytes)
                                   : INT64_MAX;
    return of_machine > 0 ? std::min(left_by_group, of_machine * kibibyte) : left_by_group;
}

RecentKills::RecentKills(MemoryGroup group)
    : events_{std::move(group.events_file)},
      granted_bytes_{group.granted_bytes},
      latest_{group.kills},
      earlier_{group.kills} {}

void RecentKills::refresh(std::int64_t now_ns) noexcept {
    if (now_ns - looked_ns_ >= window_ns) {
        earlier_ = latest_;
        latest_ = count();
        looked_ns_ = now_ns;
    }
}

std::int64_t RecentKills::count() const noexcept {
    std::array<char, 1024> text{};
    const FileHandle file{::open(events_.c_str(), O_RDONLY | O_CLOEXEC)};
    const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : 0;
    constexpr std::string_view name = "oom_kill ";
    const std::string_view lines{text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, bytes))};
    std::int64_t number = 0;
    for (auto at = lines.find(name); at != lines.npos; at = lines.find(name, at + 1)) {
        if (at == 0 || lines[at - 1] == '\n') {
            std::from_chars(lines.data() + at + name.size(), lines.data() + lines.size(), number);
        }
    }
    return number;
}

}  // namespace ziggurat
