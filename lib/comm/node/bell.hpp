/// Bells between processes of a node: one sleeps, the others wake it.
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

/// Wakes the bell's owner if it sleeps or is about to. Called after something has been published.
void ring(Bell& bell) noexcept;

/// Ends of a sleep.
enum class Woken { by_bell, by_time };

/// Says that the owner is about to sleep; gives the number that sleep_until_rung wants. Between the two calls
/// the owner looks once more at everything that it waits for: it sees all that was published before, and all
/// that is published later rings.
std::uint32_t announce_sleep(Bell& bell) noexcept;

/// Sleeps unless the bell was rung since it was announced. Also returns for a signal, as if rung.
Woken sleep_until_rung(Bell& bell, std::uint32_t announced, std::int64_t at_most_ns) noexcept;

/// The owner is up again, or does not sleep after all.
void withdraw_sleep(Bell& bell) noexcept;

}  // namespace ziggurat::comm
