#include "perf/tiers/disk_idle.hpp"

#include <algorithm>
#include <vector>

namespace ziggurat::perf {
namespace {

/// Change of the number of transfers in flight, and of transfers that are ready, at `time_ns`.
struct Change {
    std::int64_t time_ns;
    int in_flight;
    int waiting;
};

bool is_of_disk(schedule::Engine engine) {
    return engine == schedule::Engine::nvme_read || engine == schedule::Engine::nvme_write;
}

}  // namespace

double idle_disk_seconds(const train::NodeTimes& times,
                         std::int64_t step,
                         std::int64_t begin_ns,
                         std::int64_t end_ns) {
    std::vector<Change> changes{{begin_ns, 0, 0}, {end_ns, 0, 0}};
    const auto add = [&](std::int64_t from_ns, std::int64_t to_ns, int in_flight, int waiting) {
        from_ns = std::clamp(from_ns, begin_ns, end_ns);
        to_ns = std::clamp(to_ns, from_ns, end_ns);
        changes.push_back({from_ns, in_flight, waiting});
        changes.push_back({to_ns, -in_flight, -waiting});
    };
    for (const auto& rank : times.ranks) {
        for (int op = 0; op < static_cast<int>(std::ssize(rank.engines)); ++op) {
            if (!is_of_disk(rank.engines[static_cast<std::size_t>(op)])) {
                continue;
            }
            for (auto each = step - 1; each <= step + 1; ++each) {
                if (const auto done = rank.times.of(op, each)) {
                    add(done->begin_ns, done->end_ns, 1, 0);
                    add(done->ready_ns, done->begin_ns, 0, 1);
                }
            }
        }
    }
    std::ranges::sort(changes, {}, &Change::time_ns);
    std::int64_t idle_ns = 0;
    int in_flight = 0, waiting = 0;
    for (std::size_t k = 0; k + 1 < changes.size(); ++k) {
        in_flight += changes[k].in_flight;
        waiting += changes[k].waiting;
        if (in_flight == 0 && waiting > 0) {
            idle_ns += changes[k + 1].time_ns - changes[k].time_ns;
        }
    }
    return static_cast<double>(idle_ns) * 1e-9;
}

}  // namespace ziggurat::perf
