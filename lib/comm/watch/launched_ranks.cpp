#include "comm/watch/launched_ranks.hpp"

#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "comm/watch/process_state.hpp"
#include "comm/watch/watchdog.hpp"

namespace ziggurat::comm {
namespace {

std::optional<std::string_view> value_of(std::string_view environment, std::string_view name) {
    while (!environment.empty()) {
        const std::string_view entry = environment.substr(0, environment.find('\0'));
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
            return entry.substr(name.size() + 1);
        }
        environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
    }
    return std::nullopt;
}

std::optional<int> number_of(std::optional<std::string_view> text) {
    int number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{}) {
        return std::nullopt;
    }
    return number;
}

std::string program_of(const std::string& process) {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/" + process + "/exe", ignored).string();
}

struct RankProcess {
    int rank = 0;
    pid_t pid = 0;
};

/// Returns the processes of the job of `mine` that run this program on this node.
std::vector<RankProcess> find_rank_processes(const LaunchedRank& mine) {
    const std::string program = program_of("self");
    std::vector<RankProcess> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc", ignored}) {
        const std::string name = entry.path().filename().string();
        // A wrapper has the same environment, but it outlives its rank.
        if (name.find_first_not_of("0123456789") != std::string::npos || program.empty() ||
            program_of(name) != program) {
            continue;
        }
        const auto other = parse_launched_rank(read_proc_file("/proc/" + name + "/environ"));
        if (other && other->job == mine.job) {
            found.push_back({other->rank, static_cast<pid_t>(std::stol(name))});
        }
    }
    return found;
}

}  // namespace

std::optional<LaunchedRank> parse_launched_rank(std::string_view environment) {
    const auto job = value_of(environment, "PMIX_NAMESPACE");
    const auto rank = number_of(value_of(environment, "OMPI_COMM_WORLD_RANK"));
    const auto on_node = number_of(value_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE"));
    if (!job || !rank || !on_node) {
        return std::nullopt;
    }
    return LaunchedRank{std::string{*job}, *rank, *on_node};
}

std::optional<std::string> describe_missing_ranks(const LaunchedRank& mine,
                                                  std::vector<int> found,
                                                  int world_size) {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    const auto missing = mine.on_node - static_cast<int>(found.size());
    if (missing <= 0) {
        return std::nullopt;
    }
    std::string missing_ranks;
    if (mine.on_node == world_size) {
        for (int rank = 0; rank < world_size; ++rank) {
            if (!std::binary_search(found.begin(), found.end(), rank)) {
                missing_ranks += (missing_ranks.empty() ? "rank " : ", rank ") + std::to_string(rank);
            }
        }
    } else {
        missing_ranks =
            std::to_string(missing) + " of the " + std::to_string(mine.on_node) + " ranks of this node";
    }
    return missing_ranks +
           " died while the ranks started (killed, or out of memory?). Check the system log (dmesg), and "
           "start the job again.";
}

std::optional<std::string> find_missing_ranks(int world_size) {
    const auto mine = parse_launched_rank(read_proc_file("/proc/self/environ"));
    if (!mine) {
        return std::nullopt;
    }
    const auto processes = find_rank_processes(*mine);
    if (processes.empty()) {
        return std::nullopt;
    }
    std::vector<int> found;
    for (const auto& process : processes) {
        found.push_back(process.rank);
    }
    return describe_missing_ranks(*mine, std::move(found), world_size);
}

std::optional<std::string> find_stopped_rank() {
    const auto mine = parse_launched_rank(read_proc_file("/proc/self/environ"));
    if (!mine) {
        return std::nullopt;
    }
    for (const auto& [rank, pid] : find_rank_processes(*mine)) {
        const auto state = process_state(pid);
        if (state && state->is_stopped()) {
            return name_of_rank(rank, pid) + ": " + describe(*state);
        }
    }
    return std::nullopt;
}

}  // namespace ziggurat::comm
