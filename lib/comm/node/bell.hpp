/// Sleeping and waking between processes of a node.
#pragma once

#include <atomic>
#include <cstdint>

namespace ziggurat::comm {

/// A rank sleeps in one place, whichever of its groups the news will come from. Lies in shared memory.
struct alignas(64) Bell {
    std::atomic<std::uint32_t> rung{0};
    std::atomic<std::uint32_t> asleep{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Wakes the bell's owner if he sleeps or is about to. Whoever publishes something, publishes it first.
void ring(Bell& bell) noexcept;

/// What ended a sleep.
enum class Woken { by_bell, by_time };

/// Says that the owner is about to sleep; gives what sleep_until_rung wants. Between the two calls the owner
/// looks once more at everything that he waits for: what was published before is seen then, what is
/// published later rings.
std::uint32_t announce_sleep(Bell& bell) noexcept;

/// Sleeps unless the bell was rung since it was announced. Also returns for a signal, as if rung.
Woken sleep_until_rung(Bell& bell, std::uint32_t announced, std::int64_t at_most_ns) noexcept;

/// The owner is up again, or has changed his mind.
void withdraw_sleep(Bell& bell) noexcept;

}  // namespace ziggurat::comm
