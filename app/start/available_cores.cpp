#include "app/start/available_cores.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "app/start/thread_binding.hpp"
#include "base/text/message.hpp"
#include "comm/node_topology.hpp"
#include "train/step/gather_placements.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

/// First logical CPU of a core, and the number of its logical CPUs; 1 if the system does not report it.
struct Siblings {
    int first = 0;
    int count = 1;
};

Siblings siblings_of(int cpu) {
    Siblings found{.first = cpu};
    std::ifstream list{fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)};
    int last = 0;
    char between = ' ';  // 0,64 or 0-1
    if (list >> found.first) {
        for (int before = found.first; list >> between >> last; before = last) {
            found.count += between == '-' ? last - before : 1;
        }
    }
    return found;
}

/// Returns the CPUs per node that Slurm has allocated to the job; 0 without Slurm.
///
/// If nodes have different numbers, as in 64(x2),32, returns the smallest.
int cpus_by_slurm() {
    const char* value = std::getenv("SLURM_JOB_CPUS_PER_NODE");
    int fewest = 0;
    for (std::istringstream groups{value == nullptr ? "" : value}; groups.good();) {
        std::string group;
        std::getline(groups, group, ',');
        const int cpus = std::atoi(group.c_str());
        fewest = cpus > 0 && (fewest == 0 || cpus < fewest) ? cpus : fewest;
    }
    return fewest;
}

std::set<int> whole(std::span<const int> cpus) {
    std::set<int> cores;
    for (const auto& [cpu, core] : cores_of(cpus)) {
        cores.insert(core);
    }
    return cores;
}

}  // namespace

std::vector<int> allowed_cpus() {
    const auto mine = train::usable_cores();
    const auto max = std::max<int>(static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF)), mine.back() + 1);
    cpu_set_t* mask = CPU_ALLOC(max);
    const std::size_t bytes = CPU_ALLOC_SIZE(max);
    const auto bind = [&](const auto& cpus) {
        CPU_ZERO_S(bytes, mask);
        for (const int cpu : cpus) {
            CPU_SET_S(cpu, bytes, mask);
        }
        return ::sched_setaffinity(0, bytes, mask) == 0;
    };
    std::vector<int> all(max);
    std::ranges::generate(all, [cpu = 0]() mutable { return cpu++; });
    auto allowed = mine;
    if (bind(all)) {
        allowed = train::usable_cores();
        bind(mine);
    }
    CPU_FREE(mask);
    return allowed;
}

std::map<int, int> cores_of(std::span<const int> cpus) {
    std::map<int, int> cores;
    for (const int cpu : cpus) {
        cores[cpu] = siblings_of(cpu).first;
    }
    return cores;
}

int cores_of_job() {
    const auto allowed = allowed_cpus();
    const int by_slurm = cpus_by_slurm();
    const int granted = by_slurm > 0 ? std::max(1, by_slurm / siblings_of(allowed.front()).count)
                                     : static_cast<int>(whole(allowed).size());
    const int limit = train::control_group_core_limit();
    return limit > 0 ? std::min(granted, limit) : granted;
}

std::vector<std::string> core_notes(const comm::Context& world, int threads, train::ThreadsBy by) {
    const auto mine = train::usable_cores();
    const auto cores = whole(mine);
    const auto positions = train::gather_placements(world, {.host = comm::machine_name(),
                                                            .cores = mine,
                                                            .threads = threads,
                                                            .whole_cores = {cores.begin(), cores.end()},
                                                            .job_cores = cores_of_job()});
    if (world.rank() != 0) {
        return {};
    }
    auto notes = train::idle_core_notes(positions, by);
    if (auto note = binding_note(); !note.empty()) {
        notes.push_back(std::move(note));
    }
    return notes;
}

void report_core_notes(const comm::Context& world, int threads, train::ThreadsBy by) {
    for (const auto& note : core_notes(world, threads, by)) {
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
}

}  // namespace ziggurat::app
