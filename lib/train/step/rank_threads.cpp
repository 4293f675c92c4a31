#include "train/step/rank_threads.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace ziggurat::train {

int share_of_cores(std::span<const RankPlacement> ranks, int self, int core_limit) {
    const RankPlacement& mine = ranks[self];
    const auto is_concurrent = [&](const RankPlacement& other) { return other.host == mine.host; };
    double share = 0;
    for (const int core : mine.cores) {
        const auto ranks_on_device =
            std::count_if(ranks.begin(), ranks.end(), [&](const RankPlacement& other) {
                return is_concurrent(other) &&
                       std::find(other.cores.begin(), other.cores.end(), core) != other.cores.end();
            });
        share += 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(ranks_on_device, 1));
    }
    if (core_limit > 0) {
        const auto beside = std::count_if(ranks.begin(), ranks.end(), is_concurrent);
        share = std::min(share, static_cast<double>(core_limit) / static_cast<double>(beside));
    }
    // Shares are sums of fractions: 3 x 1/3 may be slightly less than 1.
    return std::max(1, static_cast<int>(std::floor(share + 1e-6)));
}

int granted_cores() {
    const auto usable = static_cast<int>(usable_cores().size());
    const int limit = control_group_core_limit();
    return limit > 0 ? std::min(limit, usable) : usable;
}

std::vector<int> usable_cores() {
    std::vector<int> cores;
    // The mask must be as long as the kernel's, which is more than the default on large machines.
    for (int capacity = CPU_SETSIZE; capacity <= 1 << 18; capacity *= 2) {
        cpu_set_t* mask = CPU_ALLOC(capacity);
        const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
        CPU_ZERO_S(bytes, mask);
        const bool is_read = sched_getaffinity(0, bytes, mask) == 0;
        for (int core = 0; is_read && core < capacity; ++core) {
            if (CPU_ISSET_S(core, bytes, mask)) {
                cores.push_back(core);
            }
        }
        CPU_FREE(mask);
        if (is_read) {
            break;
        }
    }
    if (cores.empty()) {
        cores.push_back(0);
    }
    return cores;
}

int control_group_core_limit() {
    // Version 2 has both numbers in one file, version 1 in two files; -1 or "max" means unlimited.
    double quota = -1;
    double period = 0;
    if (std::ifstream both{"/sys/fs/cgroup/cpu.max"}; !(both >> quota >> period)) {
        quota = -1;
        std::ifstream{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us"} >> quota;
        std::ifstream{"/sys/fs/cgroup/cpu/cpu.cfs_period_us"} >> period;
    }
    return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::lround(quota / period))) : 0;
}

}  // namespace ziggurat::train
