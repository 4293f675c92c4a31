#include "doctor/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.hpp"

namespace ziggurat::doctor {
namespace {

/// Files that one rank opens without its peers: libraries, log, metrics, checkpoints, data, NVMe.
constexpr std::int64_t files_of_rank = 128;
/// Files per connection to another rank, including the launcher's share.
constexpr std::int64_t files_of_peer = 4;
/// Maximum number of ranks that one rank connects to: its neighbours along the axes.
constexpr std::int64_t max_peers = 256;

constexpr std::int64_t mebi = std::int64_t{1} << 20;
/// Shared memory per rank: a segment of Open MPI (4 MiB), and the same amount for pools.
constexpr std::int64_t shared_of_rank = 8 * mebi;

std::string bytes_or_none(std::int64_t bytes) {
    return bytes == no_limit ? "any amount" : format_bytes(bytes);
}

}  // namespace

Diagnosis diagnose_open_files(Limit files, int num_ranks) {
    const auto peers = std::min<std::int64_t>(num_ranks, max_peers);
    const auto needed = files_of_rank + files_of_peer * peers;
    const auto found = files.now == no_limit
                           ? std::string{"any number may be open"}
                           : fmt::format("{} may be open at once", format_grouped(files.now));
    if (files.now >= needed) {
        return ok_diagnosis("open files", found, Scope::rank);
    }
    const auto remedy =
        files.max >= needed
            ? fmt::format("Run 'ulimit -n {}' before the launch.", std::max<std::int64_t>(needed, 1024))
            : fmt::format(
                  "Ask the administrator to raise 'nofile' to 1024 or more in /etc/security/limits.conf; "
                  "your maximum is {}.",
                  format_grouped(files.max));
    return warning("open files", fmt::format("{}, and a rank among {} may need {}", found, num_ranks, needed),
                   remedy, Scope::rank);
}

Diagnosis diagnose_locked_memory(Limit bytes, const std::string& fabric) {
    const auto found = fmt::format("{} may be locked", bytes_or_none(bytes.now));
    if (fabric.empty() || bytes.now == no_limit) {
        return ok_diagnosis(
            "locked memory",
            fabric.empty() ? found + ", and no network card needs it" : found + ", as " + fabric + " needs",
            Scope::rank);
    }
    return warning("locked memory",
                   fmt::format("{}, and the network card {} locks its message buffers", found, fabric),
                   bytes.max == no_limit
                       ? "Run 'ulimit -l unlimited' before the launch, on all nodes."
                       : "Ask the administrator to set 'memlock' to unlimited in /etc/security/limits.conf, "
                         "and in the service of the batch system, on all nodes.",
                   Scope::rank);
}

Diagnosis diagnose_memory(const MemoryFacts& facts) {
    constexpr double nearly_full = 0.95;
    constexpr double too_small_a_share = 0.5;
    const auto installed = format_bytes(facts.installed_bytes);
    const bool is_limited = facts.granted_bytes < facts.installed_bytes;
    const auto max = std::min(facts.granted_bytes, facts.installed_bytes);
    const auto used = is_limited ? facts.used_bytes : facts.installed_bytes - facts.available_bytes;
    const auto found =
        is_limited ? fmt::format("the control group grants {} of the machine's {}, {} of them are in use",
                                 format_bytes(max), installed, format_bytes(used))
                   : fmt::format("{}, {} of them are in use", installed, format_bytes(used));
    if (static_cast<double>(used) >= nearly_full * static_cast<double>(max)) {
        return error("memory", found,
                     is_limited
                         ? "Request more memory (srun --mem, docker --memory), or stop other processes of "
                           "this group: the kernel kills processes that exceed the limit."
                         : "Stop other processes on this machine: the kernel kills one if memory runs out.");
    }
    const double memory_share = static_cast<double>(max) / static_cast<double>(facts.installed_bytes);
    const double core_share = static_cast<double>(facts.cores) / std::max(1, facts.machine_cores);
    if (is_limited && memory_share < too_small_a_share * core_share) {
        return warning(
            "memory", fmt::format("{}, for {} of {} cores", found, facts.cores, facts.machine_cores),
            "Request more memory (srun --mem=0 for all of a node, docker --memory) if this is less "
            "than intended.");
    }
    return ok_diagnosis("memory", found);
}

Diagnosis diagnose_shared_memory(const SharedMemoryFacts& facts) {
    constexpr const char* check = "shared memory";
    if (!facts.problem.empty()) {
        return error(check, fmt::format("/dev/shm cannot be used ({})", facts.problem),
                     "Mount it, writable by all: 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm', or docker "
                     "--shm-size.");
    }
    if (!facts.has_size) {
        return ok_diagnosis(check, "/dev/shm is writable and has no limit of its own");
    }
    const auto needed = shared_of_rank * std::max(1, facts.ranks);
    const auto found = fmt::format("{} of {} are free in /dev/shm", format_bytes(facts.free_bytes),
                                   format_bytes(facts.size_bytes));
    if (facts.free_bytes >= needed) {
        return ok_diagnosis(check, found);
    }
    return warning(check,
                   fmt::format("{}, and messages of {} rank{} on a node may need {}", found, facts.ranks,
                               facts.ranks == 1 ? "" : "s", format_bytes(needed)),
                   facts.size_bytes < needed
                       ? "Make it larger: 'mount -o remount,size=50% /dev/shm', or docker --shm-size."
                       : "Remove files there that ended programs left.");
}

}  // namespace ziggurat::doctor
