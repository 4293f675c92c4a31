#include "comm/node/event_count.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace ziggurat::comm {
namespace {

/// Calls futex, without FUTEX_PRIVATE: the sleeper is another process.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
    return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void notify(EventCount& bell) noexcept {
    // Pairs with the fence of prepare_wait: either the sleeper's last poll sees the published data, or this
    // load sees that it sleeps.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (bell.asleep.load(std::memory_order_seq_cst) != 0) {
        bell.rung.fetch_add(1, std::memory_order_seq_cst);
        futex(bell.rung, FUTEX_WAKE, 1, nullptr);
    }
}

std::uint32_t prepare_wait(EventCount& bell) noexcept {
    const std::uint32_t rung = bell.rung.load(std::memory_order_acquire);
    bell.asleep.store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return rung;
}

WakeReason wait_for_notify(EventCount& bell, std::uint32_t announced, std::int64_t at_most_ns) noexcept {
    const timespec timeout{at_most_ns / 1'000'000'000, at_most_ns % 1'000'000'000};
    const bool has_timed_out = futex(bell.rung, FUTEX_WAIT, announced, &timeout) != 0 && errno == ETIMEDOUT;
    return has_timed_out ? WakeReason::by_time : WakeReason::by_bell;
}

void cancel_wait(EventCount& bell) noexcept {
    bell.asleep.store(0, std::memory_order_relaxed);
}

}  // namespace ziggurat::comm
