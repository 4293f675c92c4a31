#include "comm/session/stale_segments.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ziggurat::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t min_age_seconds = 60;

/// Identity of a file that is independent of its name.
using Identity = std::pair<dev_t, ino_t>;

struct Segment {
    std::string path;
    Identity identity;
};

std::vector<Segment> candidates(const std::string& folder, const std::string& host, std::uint32_t user) {
    std::vector<Segment> found;
    std::error_code unreadable;
    for (fs::directory_iterator entry{folder, unreadable}, end; !unreadable && entry != end;
         entry.increment(unreadable)) {
        struct stat file {};
        const auto path = entry->path().string();
        const bool is_segment = is_segment_name(entry->path().filename().string(), host, user) &&
                                ::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
                                file.st_uid == user;
        if (is_segment && file.st_mtime + min_age_seconds < std::time(nullptr)) {
            found.push_back({path, {file.st_dev, file.st_ino}});
        }
    }
    return found;
}

/// Removes from `segments` the file that `link` refers to. Links in /proc also refer to renamed files.
void keep_unless_linked(const fs::path& link, std::vector<Segment>& segments) {
    struct stat file {};
    if (::stat(link.c_str(), &file) == 0) {
        std::erase_if(segments, [&](const Segment& segment) {
            return segment.identity == Identity{file.st_dev, file.st_ino};
        });
    }
}

/// Removes from `segments` those that the process has open or mapped.
///
/// Returns false if it cannot be read.
bool keep_used_by(const fs::path& process, std::vector<Segment>& segments) {
    std::error_code reason;
    for (fs::directory_iterator link{process / "fd", reason}, end; !reason && link != end;
         link.increment(reason)) {
        keep_unless_linked(link->path(), segments);
    }
    std::ifstream maps{process / "maps"};
    if (reason || !maps) {
        return !fs::exists(process / "maps", reason);  // true if it has ended meanwhile
    }
    for (std::string line; std::getline(maps, line);) {
        const auto path = line.find('/');
        std::erase_if(segments, [&](const Segment& segment) {
            return path != line.npos && std::string_view{line}.substr(path).starts_with(segment.path);
        });
    }
    return true;
}

}  // namespace

bool is_segment_name(const std::string& name, const std::string& host, std::uint32_t user) {
    for (const char* kind : {"vader_segment.", "sm_segment."}) {  // of Open MPI 4 and 5
        const auto begin = kind + host + "." + std::to_string(user) + ".";
        if (!name.starts_with(begin)) {
            continue;
        }
        const auto rest = std::string_view{name}.substr(begin.size());
        const auto dot = rest.find('.');
        const auto is_all = [](std::string_view text, std::string_view digits) {
            return !text.empty() && text.find_first_not_of(digits) == text.npos;
        };
        return dot != rest.npos && is_all(rest.substr(0, dot), "0123456789abcdef") &&
               is_all(rest.substr(dot + 1), "0123456789");
    }
    return false;
}

int remove_stale_segments(const std::string& folder, const std::string& host, std::uint32_t user) {
    auto segments = candidates(folder, host, user);
    std::error_code unreadable;
    for (fs::directory_iterator entry{"/proc", unreadable}, end;
         !segments.empty() && !unreadable && entry != end; entry.increment(unreadable)) {
        const auto name = entry->path().filename().string();
        struct stat process {};
        const bool is_ours = name.find_first_not_of("0123456789") == name.npos &&
                             ::stat(entry->path().c_str(), &process) == 0 && process.st_uid == user;
        const bool is_init = name == "1";  // hidden in some containers; never a rank
        if (is_ours && !keep_used_by(entry->path(), segments) && !is_init) {
            return 0;
        }
    }
    if (unreadable) {
        return 0;
    }
    return static_cast<int>(std::ranges::count_if(
        segments, [](const Segment& segment) { return ::unlink(segment.path.c_str()) == 0; }));
}

}  // namespace ziggurat::comm
