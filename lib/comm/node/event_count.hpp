/// Bell: lets processes of a node wake a sleeping process (event count on a futex).
#pragma once

#include <atomic>
#include <cstdint>

namespace ziggurat::comm {

/// Event count in shared memory. A rank has one for all of its groups.
struct alignas(64) EventCount {
    std::atomic<std::uint32_t> rung{0};
    std::atomic<std::uint32_t> asleep{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Wakes the bell's owner if it sleeps or is about to. Call it after publishing data.
void notify(EventCount& bell) noexcept;

/// Reason for the end of a sleep.
enum class WakeReason { by_bell, by_time };

/// Announces that the owner is about to sleep; returns the count for wait_for_notify().
///
/// Between the two calls the owner must poll once more everything that it waits for. It then sees all data
/// published earlier, and every later publication rings the bell.
std::uint32_t prepare_wait(EventCount& bell) noexcept;

/// Sleeps unless the bell was rung since the announcement. A signal also ends the sleep, as if rung.
WakeReason wait_for_notify(EventCount& bell, std::uint32_t announced, std::int64_t at_most_ns) noexcept;

/// Announces that the owner is awake, or will not sleep.
void cancel_wait(EventCount& bell) noexcept;

}  // namespace ziggurat::comm
