#include "comm/node/yield_core.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"

namespace ziggurat::comm {
namespace {

constexpr long nap_ns = 20'000;
YieldBackoff pauses;

}  // namespace

bool YieldBackoff::note_yield(std::int64_t begin, std::int64_t end) noexcept {
    const std::int64_t pause = pause_.load(std::memory_order_relaxed);
    if (end - begin < long_yield_ns) {
        if (pause > 0) {
            pause_.store(pause / 2, std::memory_order_relaxed);
        }
        return true;
    }
    const std::int64_t longer = std::clamp(2 * pause, first_pause_ns, longest_pause_ns);
    pause_.store(longer, std::memory_order_relaxed);
    no_yield_before_.store(end + longer, std::memory_order_relaxed);
    return false;
}

bool yield_core() noexcept {
    const std::int64_t begin = monotonic_ns();
    if (!pauses.may_yield(begin)) {
        return false;
    }
    syscall(SYS_sched_yield);
    return pauses.note_yield(begin, monotonic_ns());
}

}  // namespace ziggurat::comm

/// Replaces sched_yield() of libc for the whole process (the link exports it: CMakeLists.txt).
///
/// Open MPI calls it between two polls if ranks outnumber cores (perf/results/2026-11-25-yields.md).
extern "C" int sched_yield() noexcept {
    if (!ziggurat::comm::yield_core()) {
        const timespec pause{0, ziggurat::comm::nap_ns};
        nanosleep(&pause, nullptr);
    }
    return 0;
}
